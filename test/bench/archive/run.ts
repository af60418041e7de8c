/**
 * `npm run bench -- archive`: what copying a provider's files into the object store costs. Many large files at once
 * are fetched through egress into a directory, as archiving does it; for comparison, in a process of its own each
 * time, the same files through nothing but a stream and SHA-256. Two figures: throughput ours / bare, and the peak
 * memory of our process over its idle memory. Windows of both alternate.
 *
 * Exits with 0 even if a promise is missed: the bench reports numbers, and they are not failures.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { packageModule } from '../../../src/config/package-root.ts';
import { median } from '../measures.ts';
import { surroundings } from '../stage/node-launch.ts';
import type { Figures } from './copier.ts';
import { count } from '../../support/number-options.ts';

const LEAST_THROUGHPUT = 0.8;
const MOST_MB_OVER_IDLE = 150;
const CHUNK = Buffer.alloc(256 * 1024, 7);

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

const options = new Command('npm run bench -- archive')
  .description('Measures archiving of large files beside a bare copy of them.')
  .option('--files <number>', 'files at once', count, 16)
  .option('--megabytes <number>', 'size of each', count, 256)
  .option('--rounds <number>', 'windows of each side', count, 3)
  .parse()
  .opts();

const server = createServer((_request, response) => {
  let left = options.megabytes * 4;
  response.writeHead(200, { 'Content-Type': 'video/mp4', 'Content-Length': String(left * CHUNK.length) });
  const send = (): void => {
    while (left > 0) {
      left -= 1;
      if (!response.write(CHUNK)) {
        response.once('drain', send);
        return;
      }
    }
    response.end();
  };
  send();
});
const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-bench-archive-'));
try {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  await measure(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
} finally {
  server.close();
  await rm(directory, { recursive: true, force: true });
}

async function measure(url: string): Promise<void> {
  const figures: Record<'ours' | 'bare', Figures[]> = { ours: [], bare: [] };
  for (let round = 1; round <= options.rounds; round++) {
    const order = round % 2 === 1 ? (['ours', 'bare'] as const) : (['bare', 'ours'] as const);
    for (const side of order) {
      const found = await copy(side, url, path.join(directory, `${side}-${round}`));
      figures[side].push(found);
      print(
        `window ${round}, ${side}: ${Math.round(found.megabytesPerSecond)} MB/s, ${Math.round(found.overIdleMb)} MB`,
      );
      await rm(path.join(directory, `${side}-${round}`), { recursive: true, force: true });
    }
  }
  const ratio =
    median(figures.ours.map((found) => found.megabytesPerSecond)) /
    median(figures.bare.map((found) => found.megabytesPerSecond));
  const overIdleMb = Math.max(...figures.ours.map((found) => found.overIdleMb));
  const verdict = (isMet: boolean): string => (isMet ? 'ok' : 'MISSED');
  print(
    `throughput: ${ratio.toFixed(2)} of a bare copy, at least ${LEAST_THROUGHPUT}: ${verdict(ratio >= LEAST_THROUGHPUT)}`,
  );
  print(
    `memory: ${Math.round(overIdleMb)} MB over idle, at most ${MOST_MB_OVER_IDLE}: ${verdict(overIdleMb <= MOST_MB_OVER_IDLE)}`,
  );
}

/** Runs one window in a process of its own, so that nothing is left over from the last one. */
async function copy(side: 'ours' | 'bare', url: string, target: string): Promise<Figures> {
  const child = spawn(
    process.execPath,
    [packageModule('test/bench/archive/copier.ts'), side, url, target, String(options.files)],
    { env: surroundings(), stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  return new Promise((resolve, reject) => {
    child.once('message', (figures: Figures) => resolve(figures));
    child.once('exit', (code) => reject(new Error(`the copier ended with ${code}`)));
  });
}
