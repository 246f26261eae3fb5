// Builds the page into the crate that embeds it. Names of files come from their content, so that
// the same sources give the same bundle on every machine.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import tailwindcss from "@tailwindcss/vite";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [tailwindcss(), svelte()],
  base: "/",
  build: {
    outDir: process.env.TOOLCRIB_PAGE_OUT ?? "../crates/page/dist",
    emptyOutDir: true,
    target: ["chrome123", "firefox120", "safari17.5"],
    // A `data:` address in a style would need a wider policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
  },
});
