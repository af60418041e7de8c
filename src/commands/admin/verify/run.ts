/** Runs an upstream against the real service with the code of a worker, and checks all that a worker would need of it. */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import type { MediaInspector } from '@darkroom/media/inspect';
import { limitsOf } from '../../../catalogue/definition.ts';
import type { ModelDefinition } from '../../../catalogue/definition.ts';
import type { LiveOutcome } from '../../../catalogue/live-verifications.ts';
import { newTaskId } from '../../../domain/ids.ts';
import { EgressError } from '../../../egress/egress-error.ts';
import { transcriptFormats, withFormats } from '../../../generation/transcript-formats.ts';
import { findBinding } from '../../../providers/http/binding.ts';
import type { ProducedFile } from '../../../providers/provider.ts';
import { isTranscript, mimeTypeOfFormat } from '../../../transcripts/formats.ts';
import type { SecretSource } from '../../../upstreams/secrets.ts';
import { createNotes, createProvider } from '../try/bound-provider.ts';
import { createCredentialMask } from '../try/credential.ts';
import { observe } from '../try/observe.ts';
import type { OutputReader } from '../try/outputs.ts';
import type { RecordedExchange, Recorder } from '../try/recording.ts';
import { startDeadline } from '../try/stopping.ts';
import { createRunLog, printable } from '../try/run-log.ts';
import { requestCancel, runWork } from '../try/work.ts';
import type { Ending, Work } from '../try/work.ts';
import type { StagedRun } from './stage.ts';

export interface RunTools {
  readonly secrets: SecretSource;
  readonly outputs: OutputReader;
  readonly inspector: MediaInspector;
  /** Aborts when the command is interrupted. */
  readonly interrupted: AbortSignal;
  readonly note: (text: string) => void;
}

export interface RunResult {
  /** `stopped`: it was interrupted. */
  readonly outcome: LiveOutcome | 'stopped';
  readonly detail: string;
  /** Of the provider's last answer. */
  readonly members: readonly string[];
}

const LONGEST_DETAIL = 2_000;
const LONGEST_ANSWER = 300;

/** @param media its files. Never fails because of the provider. */
export async function runLive({ run, media }: StagedRun, tools: RunTools): Promise<RunResult> {
  const { definition, upstream, target } = run;
  const input = withFormats(definition, run.input);
  const http = findBinding(upstream);
  const secret = upstream.secret === undefined ? undefined : tools.secrets.get(upstream.secret);
  const mask = createCredentialMask(upstream.secret, secret, http?.auth);
  const log = createRunLog(undefined);
  const last = createLastAnswer();
  const position = `routes.${target.route}.upstreams.${target.index}`;
  const scope = { baseUrl: upstream.baseUrl, hosts: http?.hosts };
  const observed = observe({ source: 'provider', log, mask, recorder: last, position, http, scope });
  const provider = createProvider(upstream, definition, {
    secrets: tools.secrets,
    logger: createNotes(log),
    workbench: observed.workbench,
  });
  const end = (outcome: RunResult['outcome'], parts: readonly string[], members: readonly string[] = []) => ({
    outcome,
    detail: printable(mask.text(parts.join('; ').replaceAll(/\s+/g, ' '))).slice(0, LONGEST_DETAIL),
    members,
  });

  const scratch = await mkdtemp(path.join(os.tmpdir(), 'darkroom-verify-'));
  const stopping = startDeadline(limitsOf(definition).handlingSeconds, tools.interrupted);
  try {
    const work: Work = {
      provider,
      request: { taskId: newTaskId(), upstream, input, ...(media.size === 0 ? {} : { media }) },
      scratch,
      stop: stopping.signal,
      isPlayedBack: false,
      hasEnded: () => false,
      note: (text) => tools.note(mask.text(text)),
    };
    const { ending, jobId } = await runWork(work);
    const answer = last.describe();
    const members = memberNames(last.body);
    if (tools.interrupted.aborted) return end('stopped', ['it was interrupted']);
    const problems = log.problems.map(({ member = '', problem }) => `${member}: ${problem}`);
    if (ending.kind !== 'done') return end('fail', [describeEnding(ending), ...problems, answer], members);

    const checked = await checkOutputs(ending.files, work, definition, tools);
    if (tools.interrupted.aborted) return end('stopped', ['it was interrupted']);
    problems.push(...checked.problems);
    const facts = [...(jobId === undefined ? [] : [`job ${jobId}`]), `outputs: ${checked.types.join(', ') || 'none'}`];
    if (problems.length === 0 && run.isCancelTested) {
      const cancelled = await checkCancel({ ...work, request: { ...work.request, taskId: newTaskId() } });
      (cancelled.isRight ? facts : problems).push(cancelled.text);
    }
    return problems.length === 0 ? end('success', facts, members) : end('fail', [...problems, ...facts], members);
  } catch (error) {
    if (tools.interrupted.aborted) return end('stopped', ['it was interrupted']);
    throw error;
  } finally {
    stopping.end();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Keeps the last exchange. */
function createLastAnswer(): Recorder & { readonly body: unknown; describe(): string } {
  let last: RecordedExchange | undefined;
  return {
    add: (exchange) => (last = exchange),
    save: () => undefined,
    get body() {
      return last?.response?.body;
    },
    describe() {
      if (last?.response === undefined) return `no response (${last?.lost ?? 'nothing was sent'})`;
      const { status, body, text = '', fileBytes } = last.response;
      const isJson = body !== undefined || fileBytes !== undefined || text === '';
      const shown = (body === undefined ? text : JSON.stringify(body)).slice(0, LONGEST_ANSWER);
      return `the last response, ${status}, ${isJson ? 'was' : 'is not JSON:'} ${shown}`;
    },
  };
}

function describeEnding(ending: Exclude<Ending, { kind: 'done' }>): string {
  switch (ending.kind) {
    case 'rejected':
      return `rejected: ${ending.reason}${ending.note === undefined ? '' : ` (${ending.note})`}`;
    case 'failed':
      return `failed: ${ending.reason}`;
    case 'unknown':
      return `unknown: ${ending.message}`;
    case 'stopped':
      return ending.why;
  }
}

async function checkOutputs(
  files: readonly ProducedFile[],
  work: Work,
  definition: ModelDefinition,
  { outputs, inspector }: RunTools,
): Promise<{ readonly types: readonly string[]; readonly problems: readonly string[] }> {
  const { modality } = definition;
  const formats = transcriptFormats(definition, work.request.input);
  const types: string[] = [];
  const problems: string[] = files.length === 0 ? ['outputs: there are none'] : [];
  for (const [index, file] of files.entries()) {
    try {
      const bytes =
        file.from === 'bytes'
          ? file.bytes
          : await buffer(
              file.from === 'file' ? createReadStream(file.path) : await outputs.read(work, file.url, work.stop),
            );
      if (formats !== undefined) {
        const format = formats[index];
        if (format !== undefined && isTranscript(bytes, format)) types.push(mimeTypeOfFormat(format));
        else problems.push(`outputs.${index}: it is no transcript of format ${format ?? 'that was asked for'}`);
        continue;
      }
      const { mimeType } = await inspector.inspectBytes('models verify', bytes);
      types.push(mimeType);
      if (!mimeType.startsWith(`${modality}/`)) problems.push(`outputs.${index}: it is ${mimeType}, not ${modality}`);
    } catch (error) {
      if (!(error instanceof EgressError) && !(error instanceof UnsupportedMediaError)) throw error;
      const problem =
        error instanceof EgressError ? error.message : 'it is no image, video or audio that the service knows';
      problems.push(`outputs.${index}: ${problem}`);
    }
  }
  return { types, problems };
}

/** Submits a job and asks the provider to cancel it. */
async function checkCancel(work: Work): Promise<{ readonly isRight: boolean; readonly text: string }> {
  const answered = await requestCancel(work);
  if (answered.ending === undefined) {
    const { outcome } = answered;
    return { isRight: outcome === 'cancelled' || outcome === 'too_late', text: `cancel: ${outcome}` };
  }
  const { ending } = answered;
  return ending.kind === 'done'
    ? { isRight: true, text: 'cancel: the work was done at once' }
    : { isRight: false, text: `cancel: ${describeEnding(ending)}` };
}

/** Of the shape of a provider's answer. */
const MAX_NAMES = 200;
const LONGEST_NAME = 200;

/**
 * The shape of a provider's answer, so that two of them can be compared without keeping either: the names of all
 * members, dotted: `data.images.url`. The items of a list count as one.
 *
 * @returns at most 200, in their order.
 */
export function memberNames(answer: unknown): readonly string[] {
  const names = new Set<string>();
  const visit = (value: unknown, above: string): void => {
    if (typeof value !== 'object' || value === null || names.size >= MAX_NAMES) return;
    if (Array.isArray(value)) {
      for (const item of value as readonly unknown[]) visit(item, above);
      return;
    }
    for (const [name, member] of Object.entries(value)) {
      if (names.size >= MAX_NAMES) return;
      const path = printable(`${above}${name}`).slice(0, LONGEST_NAME);
      names.add(path);
      visit(member, `${path}.`);
    }
  };
  visit(answer, '');
  return [...names];
}
