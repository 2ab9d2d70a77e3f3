import { useEffect, useState } from "react";

/** A value once it has rested for a while: what is typed is asked for when one stops typing. */
export function useRested<T>(value: T, rest = 250): T {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), rest);
    return () => clearTimeout(timer);
  }, [value, rest]);
  return rested;
}
