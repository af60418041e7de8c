/** Compresses the static files of a build beforehand, so that the api spends nothing on it. */
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const COMPRESSED = /\.(?:html|js|css|svg|json|txt)$/;

/** Writes `.br` and `.gz` beside each file that is worth it. */
export async function compress(directory) {
  const names = await readdir(directory, { recursive: true });
  for (const name of names.filter((each) => COMPRESSED.test(each))) {
    const file = path.join(directory, name);
    const content = await readFile(file);
    const [brotli, gzipped] = await Promise.all([
      promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
      promisify(gzip)(content, { level: 9 }),
    ]);
    if (brotli.length < content.length) await writeFile(`${file}.br`, brotli);
    if (gzipped.length < content.length) await writeFile(`${file}.gz`, gzipped);
  }
}
