// SPDX-License-Identifier: Apache-2.0
//
// Turns the built page into what the program embeds (src/dashboard/embedded_page.cpp):
//
//   node tools/bundle.mjs DIST OUTPUT
//
// OUTPUT/embedded_page.bin   the bytes of all files, plain and compressed, one after the other
// OUTPUT/embedded_page.inc   a row for each file: path, media type, entity tag, where its bytes are
//
// The same files give the same bytes. Node 18, no packages.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

// What a browser loads at most, over a slow line to the cluster.
const MOST_COMPRESSED_BYTES = 400_000;

const MEDIA_TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

function fail(message) {
  console.error(`bundle: ${message}`);
  process.exit(1);
}

// Files at the top and in assets/, which is all the program serves, sorted by path.
function pathsOf(dist) {
  const paths = [];
  for (const entry of readdirSync(dist, { withFileTypes: true })) {
    if (entry.isFile()) paths.push(entry.name);
    else if (entry.name !== 'assets') fail(`${entry.name}/ is not served; put its files into the top folder or assets/`);
    else {
      for (const asset of readdirSync(join(dist, 'assets'), { withFileTypes: true })) {
        if (!asset.isFile()) fail(`assets/${asset.name} is not a file; assets/ has no folders`);
        paths.push(`assets/${asset.name}`);
      }
    }
  }
  return paths.sort((a, b) => (a < b ? -1 : 1));
}

function mediaTypeOf(path) {
  return MEDIA_TYPES[extname(path)] ?? fail(`${path} has no known media type; add it to MEDIA_TYPES in bundle.mjs`);
}

function compressed(plain) {
  const bytes = gzipSync(plain, { level: 9 });
  bytes[9] = 255; // the operating system it was made on: not known
  return bytes;
}

function readFile(dist, path) {
  if (!/^[A-Za-z0-9._/-]+$/.test(path)) fail(`${path}: a name has letters, digits, dots, - and _ only`);
  const plain = readFileSync(join(dist, path));
  const gzip = compressed(plain);
  return {
    path: `/${path}`,
    mediaType: mediaTypeOf(path),
    tag: createHash('sha256').update(plain).digest('hex').slice(0, 20),
    plain,
    gzip: gzip.length < plain.length ? gzip : Buffer.alloc(0), // some are compressed already
  };
}

// What travels.
const sizeOf = (file) => file.gzip.length || file.plain.length;

function write(files, output) {
  mkdirSync(output, { recursive: true });
  let end = 0;
  const place = (bytes) => {
    const row = `{${end}, ${bytes.length}}`;
    end += bytes.length;
    return row;
  };
  const rows = files.map(
    (file) => `{"${file.path}", "${file.mediaType}", "${file.tag}", ${place(file.plain)}, ${place(file.gzip)}},\n`,
  );
  writeFileSync(join(output, 'embedded_page.bin'), Buffer.concat(files.flatMap((file) => [file.plain, file.gzip])));
  writeFileSync(join(output, 'embedded_page.inc'), `// Made by ui/tools/bundle.mjs.\n${rows.join('')}`);
}

function main([dist, output]) {
  if (!output) fail('write: node tools/bundle.mjs DIST OUTPUT');
  const files = pathsOf(dist).map((path) => readFile(dist, path));
  if (!files.some((file) => file.path === '/index.html')) fail(`${dist} has no index.html; build the page first`);
  const total = files.reduce((sum, file) => sum + sizeOf(file), 0);
  for (const file of files) console.log(`${String(sizeOf(file)).padStart(8)}  ${file.path}`);
  console.log(`${String(total).padStart(8)}  bytes in all, compressed`);
  if (total > MOST_COMPRESSED_BYTES) fail(`the page is ${total} bytes compressed; at most ${MOST_COMPRESSED_BYTES} are allowed`);
  write(files, output);
}

main(process.argv.slice(2));
