/** What the three interfaces of the test provider share: what a request is to them, and what they answer. */
import type { Job, Jobs } from './jobs.ts';
import type { LogLine } from './log.ts';

/** A request below an interface's own prefix, its body already read. */
export interface Incoming {
  readonly method: string;
  /** Without the prefix: `/predictions/abc`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed JSON body; an empty object where there is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** An answer: JSON, a page of HTML, or `drop`, which cuts the connection. */
export type Reply =
  | { readonly status: number; readonly json: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly status: number; readonly html: string }
  | 'drop';

/** What an interface works with. */
export interface Room {
  readonly jobs: Jobs;
  readonly log: (line: Omit<LogLine, 'at'>) => void;
  /** The address under which a job's picture can be fetched. */
  fileUrl(job: Job): string;
}

/** The forms that differ between the interfaces. */
export interface Wording {
  error(status: number, kind: 'content' | 'model' | 'other'): Reply;
}

/** Seconds that a refusal with 429 or 503 asks for. */
const RETRY_AFTER_SECONDS = 7;

/** The headers of a refusal: providers say how long to wait only where waiting helps. */
export function refusalHeaders(status: number): Readonly<Record<string, string>> {
  return status === 429 || status === 503 ? { 'retry-after': String(RETRY_AFTER_SECONDS) } : {};
}

/** What `[html]`, `[drop]`, `[500]` and `[delay-submit]` make of the answer to an accepted submit. */
export async function answerSubmit(job: Job, reply: Reply, wording: Wording): Promise<Reply> {
  const { behaviour } = job;
  if (behaviour.dropsConnection) return 'drop';
  if (behaviour.answersHtml) return { status: 200, html: '<!doctype html><title>One moment</title>' };
  if (behaviour.answers500) return wording.error(500, 'other');
  if (behaviour.answerDelayMs > 0) {
    await new Promise((resolve) => setTimeout(resolve, behaviour.answerDelayMs));
  }
  return reply;
}

/** The text of a field, empty where there is none. */
export function textOf(body: unknown, name: string): string {
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' ? value : '';
}
