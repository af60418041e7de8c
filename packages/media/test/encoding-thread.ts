/** A thread for the tests of media children: starts a video, reports that, and never continues. */
import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { openVideo } from '../src/encode.ts';

const file = path.join(String(workerData), 'never.mp4');
const video = await openVideo({ path: file, width: 64, height: 64, fps: 24, quality: 'draft' });
await video.write(Buffer.alloc(64 * 64 * 4));
parentPort?.postMessage('started', []);
// Keeps the thread alive.
setInterval(() => {}, 1000);
