/** The videos of the films bench: created over plain HTTP, as any client does it. */
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
const LOOK_EVERY_MS = 1_000;

/** A task that has ended. */
export interface MadeFilm {
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

export interface Films {
  /** The model and its input. */
  readonly description: string;
  /** Creates the given number at once and waits until all have ended. @param scene of the first of them. */
  make(count: number, scene?: number): Promise<readonly MadeFilm[]>;
  /** What is wrong with one that was created; undefined if nothing is. */
  problemOf(this: void, film: MadeFilm): Promise<string | undefined>;
}

export function createFilms(
  port: number,
  apiKey: string,
  { duration, resolution }: { readonly duration: number; readonly resolution: string },
): Films {
  async function ask<T>(method: string, place: string, body?: unknown): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${port}/v1${place}`, {
      method,
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`the api answered ${response.status}: ${text}`);
    return (JSON.parse(text) as { data: T }).data;
  }

  async function makeOne(place: number): Promise<MadeFilm> {
    const prompt = PROMPTS[place % SCENES];
    const input = { prompt, duration, resolution, aspect_ratio: '16:9', seed: place + 1 };
    const { taskId } = await ask<{ taskId: string }>('POST', '/tasks', { model: MODEL, input });
    for (;;) {
      await sleep(LOOK_EVERY_MS);
      const task = await ask<MadeFilm>('GET', `/tasks/${taskId}`);
      if (task.status === 'success' || task.status === 'fail') return task;
    }
  }

  return {
    description: `${MODEL}, ${duration} s at ${resolution}`,
    make: (count, scene = 0) => Promise.all(Array.from({ length: count }, (_, place) => makeOne(scene + place))),
    async problemOf(task) {
      const [film, ...frames] = task.output ?? [];
      if (task.status !== 'success' || film === undefined) return JSON.stringify(task);
      const bytes = Buffer.from(await (await fetch(film.url)).arrayBuffer());
      const isWhole = createHash('sha256').update(bytes).digest('hex') === film.sha256;
      const isAsAsked = film.durationSeconds === duration && `${film.height}p` === resolution && frames.length === 3;
      return isWhole && isAsAsked ? undefined : `it is not what was asked for, or not whole: ${JSON.stringify(task)}`;
    },
  };
}
