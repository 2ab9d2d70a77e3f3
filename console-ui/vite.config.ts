import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The page works from any sub-path: every address in it is relative. While one works on it, `npm run dev` passes
// what begins with /api on to a console that runs beside it.
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../src/shardwright/console/static",
    emptyOutDir: true,
    target: "es2022",
    // An inlined file would be a data: address, which the content security policy forbids.
    assetsInlineLimit: 0,
    reportCompressedSize: true,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8088" } },
});
