/**
 * A media child's side of its pipes: its work, its lifeline and its memory limit. It ends with a signal to itself and
 * never by exiting: exiting waits for a decoder's threads, and a hostile file can keep those busy for ever.
 */
import { read, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { encodeBytesHeader, encodeJson, readMessage } from './messages.ts';
import type { MediaMessage } from './messages.ts';
import { UndecodableMediaError } from './undecodable-media-error.ts';

/** What the parent finds on standard error if the child ended itself because of its memory use. */
export const OUT_OF_MEMORY = 'media child: out of memory';

const STDERR = 2;
/**
 * The file descriptors of a child's pipes. Not standard input and output: Node makes those non-blocking when anything
 * touches them.
 */
const FROM_PARENT = 3;
const TO_PARENT = 4;

/** An allocation of a gigabyte takes longer than this to be touched. */
const MEMORY_CHECK_MS = 100;

const readFrom = promisify(read);
const writeTo = promisify(write);

/** What the work of a media child receives. */
export interface ParentChannel {
  /** The parent's next message; the process ends if the parent is gone. */
  receive(bufferFor?: (length: number) => Buffer): Promise<MediaMessage>;
  /** Call this when no further message is expected: from then on the process ends as soon as the parent is gone. */
  endWithParent(): void;
  sendJson(value: Readonly<Record<string, unknown>>): Promise<void>;
  sendBytes(bytes: Buffer): Promise<void>;
}

function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}

async function readFromParent(target: Buffer): Promise<boolean> {
  for (let filled = 0; filled < target.length;) {
    // Blocks a thread of the thread pool, never the event loop. A reset counts as an end too.
    const { bytesRead } = await readFrom(FROM_PARENT, target, filled, target.length - filled, null).catch(() => ({
      bytesRead: 0,
    }));
    if (bytesRead === 0) return false;
    filled += bytesRead;
  }
  return true;
}

async function writeToParent(bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await writeTo(TO_PARENT, bytes, written, bytes.length - written, null);
    written += bytesWritten;
  }
}

/**
 * Does the one piece of work that the parent requests in its first message, and waits to be killed. Faults of an
 * untrusted file are reported as such, other errors as errors.
 */
export async function serveParent(
  handle: (request: Readonly<Record<string, unknown>>, channel: ParentChannel) => Promise<void>,
): Promise<void> {
  let isEndingWithParent = false;
  const channel: ParentChannel = {
    endWithParent() {
      if (!isEndingWithParent) void channel.receive();
      isEndingWithParent = true;
    },
    async receive(bufferFor) {
      const message = await readMessage(readFromParent, bufferFor);
      if (message !== undefined) return message;
      killSelf();
      return new Promise<never>(() => {});
    },
    sendJson: (value) => writeToParent(encodeJson(value)),
    async sendBytes(bytes) {
      await writeToParent(encodeBytesHeader(bytes.length));
      await writeToParent(bytes);
    },
  };
  const request = await channel.receive();
  if (request.kind !== 'json') throw new TypeError('the first message to a media child must be JSON');
  const { maxMemoryMb } = request.value;
  setInterval(() => {
    if (process.memoryUsage.rss() <= Number(maxMemoryMb) * 1024 ** 2) return;
    writeSync(STDERR, OUT_OF_MEMORY);
    killSelf();
  }, MEMORY_CHECK_MS).unref();
  await handle(request.value, channel).catch(async (error: unknown) => {
    if (error instanceof UndecodableMediaError)
      await channel.sendJson({ problem: error.message, problemKind: error.fault.kind });
    else await channel.sendJson({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
  channel.endWithParent();
}
