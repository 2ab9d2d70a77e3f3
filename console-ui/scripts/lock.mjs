// Put the packages of other platforms into package-lock.json that npm has left out, and take addresses out.
//
// npm leaves out what the registry it was run against does not have, and `npm ci` then refuses the file. Such a
// package is named by its version only; on its own platform npm fetches it by that.
import { readFileSync, writeFileSync } from "node:fs";

const SYSTEMS = ["android", "darwin", "freebsd", "linux", "openharmony", "win32"];
const PROCESSORS = ["arm64", "arm", "ia32", "ppc64", "riscv64", "s390x", "x64", "wasm32"];

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));

function named(name, words) {
  return words.find((word) => new RegExp(`(^|[-/])${word}(-|$)`).test(name));
}

function entry(name, version) {
  const [os, cpu] = [named(name, SYSTEMS), named(name, PROCESSORS)];
  const libc = /musl/.test(name) ? "musl" : /gnu/.test(name) ? "glibc" : undefined;
  return {
    version,
    ...(cpu && { cpu: [cpu] }),
    dev: true,
    ...(libc && os === "linux" && { libc: [libc] }),
    optional: true,
    ...(os && { os: [os] }),
  };
}

for (const [place, held] of Object.entries(lock.packages)) {
  delete held.funding; // whom to pay is no matter of what is installed
  for (const [name, version] of Object.entries(held.optionalDependencies ?? {})) {
    const known = [`${place}/node_modules/${name}`, `node_modules/${name}`];
    if (known.every((each) => !(each in lock.packages))) {
      lock.packages[`node_modules/${name}`] = entry(name, version);
    }
  }
}

const sorted = Object.entries(lock.packages).sort(([one], [other]) => (one < other ? -1 : 1));
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
