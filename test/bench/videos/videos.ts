/** The videos of the videos bench: created over plain HTTP, as any client does it. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const MODEL = 'darkroom/motion';
/** All kinds of scenes, because they do not cost the same. */
const PROMPTS = [
  'A lighthouse above a stormy sea at dusk, the camera slowly pushes in, seagulls',
  'Neon city in the rain at night, pan to the right',
  'A meadow in spring, from noon to starry night',
  'A sailing boat on the sea at sunset, an island with palms, drifting clouds, birds',
];
/** The number of kinds of videos; they alternate. */
export const SCENES = PROMPTS.length;
/** How often each is polled. */
const CHECK_INTERVAL_MS = 1_000;

/** A task that has ended. */
export interface CreatedVideo {
  readonly taskId: string;
  readonly status: string;
  readonly output?: readonly {
    readonly url: string;
    readonly sha256: string;
    readonly width?: number;
    readonly height?: number;
    readonly durationSeconds?: number;
  }[];
}

export interface Videos {
  /** The model and its input. */
  readonly description: string;
  /** Creates the given number at once and waits until all have ended. @param scene of the first of them. */
  make(count: number, scene?: number): Promise<readonly CreatedVideo[]>;
  /** What is wrong with one that was created; undefined if nothing is. */
  problemOf(this: void, video: CreatedVideo): Promise<string | undefined>;
}

export function createVideos(
  port: number,
  apiKey: string,
  { duration, resolution }: { readonly duration: number; readonly resolution: string },
): Videos {
  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`the api answered ${response.status}: ${text}`);
    return (JSON.parse(text) as { data: T }).data;
  }

  async function makeOne(index: number): Promise<CreatedVideo> {
    const prompt = PROMPTS[index % SCENES];
    const input = { prompt, duration, resolution, aspect_ratio: '16:9', seed: index + 1 };
    const { taskId } = await call<{ taskId: string }>('POST', '/tasks', { model: MODEL, input });
    for (;;) {
      await sleep(CHECK_INTERVAL_MS);
      const task = await call<CreatedVideo>('GET', `/tasks/${taskId}`);
      if (task.status === 'success' || task.status === 'fail') return task;
    }
  }

  return {
    description: `${MODEL}, ${duration} s at ${resolution}`,
    make: (count, scene = 0) => Promise.all(Array.from({ length: count }, (_, index) => makeOne(scene + index))),
    async problemOf(task) {
      const [video, ...frames] = task.output ?? [];
      if (task.status !== 'success' || video === undefined) return JSON.stringify(task);
      const bytes = Buffer.from(await (await fetch(video.url)).arrayBuffer());
      const isWhole = createHash('sha256').update(bytes).digest('hex') === video.sha256;
      const isAsRequested =
        video.durationSeconds === duration && `${video.height}p` === resolution && frames.length === 3;
      return isWhole && isAsRequested
        ? undefined
        : `it is not what was requested, or incomplete: ${JSON.stringify(task)}`;
    },
  };
}
