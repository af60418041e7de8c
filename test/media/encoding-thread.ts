/** A thread of the engine pool for the tests of media children: starts a video, reports that, and never continues. */
import path from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import type { EngineJob } from '../../src/engines/engine.ts';
import { openVideo } from '../../src/media/encode.ts';

export default async function encodeForEver({
  job: { scratch },
  progressPort,
}: {
  readonly job: EngineJob;
  readonly progressPort: MessagePort;
}): Promise<never> {
  const file = path.join(scratch, 'never.mp4');
  const film = await openVideo({ path: file, width: 64, height: 64, fps: 24, quality: 'draft' });
  await film.write(Buffer.alloc(64 * 64 * 4));
  progressPort.postMessage(0.5, []);
  return new Promise(() => {
    // Keeps the thread alive.
    setInterval(() => {}, 1000);
  });
}
