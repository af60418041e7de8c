/** The test provider's videos: real MP4 files whose bytes depend on the prompt alone. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openVideo } from '@darkroom/media/encode';

/** For every video: pixels, frames per second, and the number of frames. */
export const VIDEO = { width: 96, height: 64, fps: 12, frames: 18 } as const;

/** A second and a half of a colour that depends on the prompt, with increasing brightness. */
export async function drawVideo(prompt: string): Promise<Buffer> {
  const { width, height, fps, frames } = VIDEO;
  const [r = 0, g = 0, b = 0] = createHash('sha256').update(prompt).digest();
  const directory = await mkdtemp(path.join(tmpdir(), 'test-provider-video-'));
  try {
    const file = path.join(directory, 'video.mp4');
    const writer = await openVideo({ path: file, width, height, fps, quality: 'standard' });
    for (let frame = 0; frame < frames; frame++) {
      const colour = [r, g, b].map((value) => Math.round((value * (frame + 1)) / frames));
      await writer.write(Buffer.alloc(width * height * 4, Buffer.from([...colour, 255])));
    }
    await writer.finish();
    return await readFile(file);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
