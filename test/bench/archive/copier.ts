/**
 * One side of the archive bench, in a process of its own: fetches one address the given number of times at once into
 * a directory, and reports the throughput and the peak memory.
 *
 * Usage: copier.ts <ours|bare> <url> <directory> <files>
 */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { request } from 'undici';
import { parseAllowList } from '../../../src/egress/operator-lists.ts';
import { createEgress } from '../../../src/egress/guarded-client.ts';
import { createDiskStore } from '../../../src/objects/stores/disk-store.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';

export interface Figures {
  readonly megabytesPerSecond: number;
  readonly overIdleMb: number;
}

const MEGABYTE = 1024 * 1024;
const SAMPLE_EVERY_MS = 20;

const [side = '', url = '', directory = '', files = ''] = process.argv.slice(2);
await mkdir(directory, { recursive: true });
const copyOne = side === 'ours' ? createArchiver() : copyBare;
const idle = process.memoryUsage().rss;
let peak = idle;
const sampling = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage().rss);
}, SAMPLE_EVERY_MS);
const began = performance.now();
const sizes = await Promise.all(Array.from({ length: Number(files) }, (_, index) => copyOne(index)));
const seconds = (performance.now() - began) / 1000;
clearInterval(sampling);
const bytes = sizes.reduce((sum, size) => sum + size, 0);
const figures: Figures = { megabytesPerSecond: bytes / MEGABYTE / seconds, overIdleMb: (peak - idle) / MEGABYTE };
process.send?.(figures, () => process.exit(0));

/** As archiving does it. */
function createArchiver(): (index: number) => Promise<number> {
  const policy = { allow: parseAllowList([new URL(url).origin]), ports: [443] };
  const egress = createEgress({ ...policy, logger: silentLogger() });
  const store = createDiskStore(directory);
  const maxBytes = 2 * 1024 ** 3;
  return async (index) => {
    const signal = new AbortController().signal;
    const download = await egress.download(url, { accountId: 'ac-1', timeoutMs: 600_000, maxBytes, signal });
    const put = await store.put(`outputs/file-${index}`, download.body, {
      mimeType: 'application/octet-stream',
      maxBytes,
      signal,
    });
    return put.sizeBytes;
  };
}

/** A stream, its SHA-256 and a file. */
async function copyBare(index: number): Promise<number> {
  const hash = createHash('sha256');
  let size = 0;
  const { body } = await request(url);
  await pipeline(
    body as Readable,
    new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        size += chunk.length;
        done(null, chunk);
      },
    }),
    createWriteStream(path.join(directory, `file-${index}`), { flush: true }),
  );
  hash.digest('hex');
  return size;
}
