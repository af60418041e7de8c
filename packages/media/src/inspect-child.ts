/**
 * Entry of the child process that inspects untrusted files, one after another. Found by path from `inspect.ts`. It
 * has no access to a store: it requests the bytes that it needs from its parent.
 */
import { serveParent } from './child-channel.ts';
import type { ParentChannel } from './child-channel.ts';
import { inspectSource } from './inspection.ts';
import type { ByteSource } from './byte-source.ts';
import { UnsupportedMediaError } from './unsupported-media-error.ts';

/** The parent could not read the bytes, and knows why. */
class SourceLostError extends Error {}

/** One read at a time, whichever reader requests it, and none once the file's result has been sent. */
function createSource(sizeBytes: number, channel: ParentChannel): ByteSource & { settle(): Promise<void> } {
  let last: Promise<unknown> = Promise.resolve();
  let isOver = false;
  const readNow = async (start: number, end: number): Promise<Buffer> => {
    if (isOver) throw new SourceLostError();
    await channel.sendJson({ read: [start, end] });
    const message = await channel.receive();
    if (message.kind === 'json') throw new SourceLostError();
    return message.bytes;
  };
  return {
    sizeBytes,
    read(start, end) {
      const turn = last.then(() => readNow(start, end));
      last = turn.catch(() => {});
      return turn;
    },
    async settle() {
      isOver = true;
      await last;
    },
  };
}

async function inspectNext({ sizeBytes }: Readonly<Record<string, unknown>>, channel: ParentChannel) {
  const source = createSource(Number(sizeBytes), channel);
  try {
    const metadata = await inspectSource(source);
    await source.settle();
    await channel.sendJson({ metadata });
  } catch (error) {
    await source.settle();
    if (error instanceof SourceLostError) await channel.sendJson({ isLost: true });
    else if (error instanceof UnsupportedMediaError) await channel.sendJson({ unsupported: error.mimeType ?? '' });
    // An error that a reader of ours throws at an untrusted file is the file's fault, and the next file is read all
    // the same.
    else await channel.sendJson({ problem: 'cannot be read' });
  }
}

await serveParent(async (_greeting, channel) => {
  await channel.sendJson({ isReady: true });
  for (;;) {
    const request = await channel.receive();
    if (request.kind !== 'json') throw new TypeError('an inspection must be requested as JSON');
    await inspectNext(request.value, channel);
  }
});
