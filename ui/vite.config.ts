// SPDX-License-Identifier: Apache-2.0
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// `npm run dev` shows the page with a server that runs already: WEIR_URL=http://127.0.0.1:7070.
const server = process.env.WEIR_URL ?? 'http://127.0.0.1:7070';
const proxied = { target: server, changeOrigin: true };

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0, // the Content-Security-Policy allows no inlined code
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 400,
  },
  server: { proxy: { '/v1': proxied, '/healthz': proxied }, fs: { allow: ['.', '../docs/reference'] } },
});
