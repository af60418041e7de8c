/**
 * `npm run bench -- pull-queue`: the queue between an upstream's connection and the reader of a text call, compared
 * with Node's own object-mode `Readable`. Rounds of both alternate in one process; the ratio is the median of ours over
 * the median of Node's (docs/decisions/0029).
 */
import { Readable } from 'node:stream';
import { Command } from '@commander-js/extra-typings';
import { PullQueue } from '../../../src/text/upstream/pull-queue.ts';
import { count } from '../../support/number-options.ts';
import { median } from '../measures.ts';

const options = new Command('npm run bench -- pull-queue')
  .description('Measures the queue of text pieces beside an object-mode Readable.')
  .option('--rounds <number>', 'rounds of each kind', count, 7)
  .option('--pieces <number>', 'pieces of a round', count, 400_000)
  .parse()
  .opts();

/** Pieces that arrive with one read of a socket: one at a time, as most upstreams send, and many. */
const BURSTS = [1, 4, 16];
const PIECE = { type: 'text', text: 'a word' };
/** About as many pieces as the queue accepts by its bound of bytes. */
const HIGH_WATER_MARK = 256;

interface Pipe {
  readonly pieces: AsyncIterable<unknown>;
  push(): void;
  end(): void;
}

/** @param onFull the reader is behind. @param onRoom it has caught up. */
type OpenPipe = (onFull: () => void, onRoom: () => void) => Pipe;

const openQueue: OpenPipe = (onFull, onRoom) => {
  const queue = new PullQueue<unknown>({
    sizeOf: () => 256,
    onFull,
    onRoom,
    onWaiting: () => undefined,
    onAbandoned: () => undefined,
  });
  return { pieces: queue, push: () => queue.push(PIECE), end: () => queue.end() };
};

const openReadable: OpenPipe = (onFull, onRoom) => {
  const readable = new Readable({ objectMode: true, highWaterMark: HIGH_WATER_MARK, read: onRoom });
  const push = (): void => {
    if (!readable.push(PIECE)) onFull();
  };
  return { pieces: readable, push, end: () => void readable.push(null) };
};

/** @returns pieces per second. */
async function measure(open: OpenPipe, burst: number): Promise<number> {
  let isPaused = false;
  let left = options.pieces;
  const pipe = open(
    () => (isPaused = true),
    () => (isPaused = false),
  );
  const produce = (): void => {
    if (!isPaused) {
      for (let sent = 0; sent < burst && left > 0; sent++, left--) pipe.push();
    }
    if (left > 0) setImmediate(produce);
    else pipe.end();
  };
  const startedAt = performance.now();
  setImmediate(produce);
  let received = 0;
  for await (const piece of pipe.pieces) received += piece === PIECE ? 1 : 0;
  if (received !== options.pieces) throw new Error(`${received} of ${options.pieces} pieces arrived`);
  return received / ((performance.now() - startedAt) / 1_000);
}

for (const burst of BURSTS) {
  const ours: number[] = [];
  const nodes: number[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    const [queue, readable] = [await measure(openQueue, burst), await measure(openReadable, burst)];
    // The first round compiles.
    if (round === 0) continue;
    ours.push(queue);
    nodes.push(readable);
  }
  const ratio = median(ours) / median(nodes);
  process.stdout.write(
    `${burst} at a time: PullQueue ${Math.round(median(ours))}/s, Readable ${Math.round(median(nodes))}/s, ` +
      `ratio ${ratio.toFixed(2)}\n`,
  );
}
