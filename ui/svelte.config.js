// Svelte: runes everywhere, styles in files of their own, as the content security policy asks.
import { vitePreprocess } from "@sveltejs/vite-plugin-svelte";

export default { preprocess: vitePreprocess(), compilerOptions: { runes: true, css: "external" } };
