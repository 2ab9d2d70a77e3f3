/** How many characters a password has at least; the console refuses shorter ones anyway. */
export const LEAST = 12;
