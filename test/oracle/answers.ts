/** What we make of single answers of a provider, which a test scripts as its document shows them. */
import type { Submission, CancelAnswer, GenerationRequest, InputFile, JobState } from '../../src/providers/provider.ts';
import { withRecorder } from '../providers/http/recorder.ts';
import type { Answers, Recorded } from '../providers/http/recorder.ts';
import { submitCall } from '../providers/submit-call.ts';
import { send } from './bench.ts';
import type { Scripted } from './bench.ts';
import { comparable, ended, mapped } from './oracle.ts';
import type { Ended, MappedModel } from './oracle.ts';

/** A model, and an input for it. */
export interface Asked {
  readonly model: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly media?: ReadonlyMap<string, InputFile>;
  readonly secret?: string;
}

/** The answer to every request, or to each. */
export function answering(script: Scripted | ((request: Recorded) => Scripted)): Answers {
  return (request, response) => send(typeof script === 'function' ? script(request) : script, response);
}

const call = { signal: new AbortController().signal };

async function during<Result>(
  asked: Asked,
  script: Parameters<typeof answering>[0],
  work: (model: MappedModel, request: GenerationRequest) => Promise<Result>,
): Promise<Result> {
  const results: Result[] = [];
  await withRecorder(answering(script), async ({ origin }) => {
    const { model, input, media, secret } = asked;
    const at = mapped(model, origin, secret === undefined ? {} : { secret });
    results.push(await work(at, at.requestFor(input, media)));
  });
  const [result] = results;
  if (result === undefined) throw new Error('nothing was asked');
  return result;
}

/** What a submit comes to. */
export async function submitted(asked: Asked, script: Parameters<typeof answering>[0]): Promise<Ended<Submission>> {
  return during(asked, script, async ({ provider }, request) => ended(provider.submit(request, submitCall())));
}

/** What a poll comes to. */
export async function polled(
  asked: Asked,
  jobId: string,
  script: Parameters<typeof answering>[0],
): Promise<Ended<JobState>> {
  return during(asked, script, async ({ provider }, request) => ended(provider.poll(request, jobId, call)));
}

/** What a cancellation comes to. */
export async function cancelled(
  asked: Asked,
  jobId: string,
  script: Parameters<typeof answering>[0],
): Promise<CancelAnswer['outcome']> {
  return during(asked, script, async ({ provider }, request) => (await provider.cancel(request, jobId, call)).outcome);
}

/** The reason of a rejection or a failure, or what it is instead. */
export function reasonOf(answer: Ended<unknown>): unknown {
  if ('rejected' in answer && answer.rejected !== undefined) return answer.rejected;
  return 'failed' in answer && answer.failed !== undefined ? answer.failed : answer;
}

/** The parts of a form that a request sends, by name; a file as its type and content. */
export function formOf(recorded: Recorded | undefined): Readonly<Record<string, readonly string[]>> {
  if (recorded === undefined) throw new Error('a request is missing');
  const { body } = comparable(recorded);
  const parts = body as readonly { name: string; isFile: boolean; type?: string; content: string }[];
  const form: Record<string, string[]> = {};
  for (const { name, isFile, type, content } of parts) {
    (form[name] ??= []).push(isFile ? `${type ?? ''}: ${content}` : content);
  }
  return form;
}
