// Says how large the built page is when it is sent, and fails when it is larger than it may be.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT = 200_000;
const built = new URL("../../src/shardwright/console/static/", import.meta.url).pathname;

let total = 0;
for (const entry of readdirSync(built, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const size = gzipSync(readFileSync(join(entry.parentPath, entry.name)), { level: 9 }).length;
  total += size;
  console.log(`${String(size).padStart(8)}  ${entry.name}`);
}
console.log(`${String(total).padStart(8)}  in all, gzipped; at most ${LIMIT}`);
if (total > LIMIT) {
  console.error(`The page has become ${total - LIMIT} bytes too large: leave something out.`);
  process.exit(1);
}
