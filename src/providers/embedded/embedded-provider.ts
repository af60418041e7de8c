/**
 * The embedded engines as a provider: submitting renders in the engine pool of this process and returns the finished
 * files. The same task renders to the same bytes, so submitting is repeatable and there is no job to wait for.
 */
import { createHash } from 'node:crypto';
import { UnusableInputError } from '@darkroom/engines/unusable-input-error';
import { reasonOfFault } from '@darkroom/api/facts/input-fault';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { Lease } from '../../limits/tenant-shares.ts';
import type { Transcript } from '../../transcripts/transcript.ts';
import { filesOfTranscript } from '../output-files.ts';
import { ProviderFailure, ProviderRejection } from '../provider.ts';
import type { InputFile, ProducedFile, Provider } from '../provider.ts';

/**
 * In the place of an engine: a model with which the endpoints of transcriptions can be tried. It says so itself, because
 * its text could be taken for what was said.
 */
const CONFORMANCE_TRANSCRIPTION = 'conformance-transcription';
const CONFORMANCE_SENTENCES = [
  'This is the conformance model of Darkroom, which does not listen: every recording gets this text.',
  'To add a model that does, see docs/guides/transcription.md.',
];
const UNKNOWN_SECONDS = 4;

function conformanceTranscript(durationSeconds = UNKNOWN_SECONDS): Transcript {
  const seconds = durationSeconds / CONFORMANCE_SENTENCES.length;
  const segments = CONFORMANCE_SENTENCES.map((text, index) => ({
    start: index * seconds,
    end: (index + 1) * seconds,
    text,
  }));
  return { text: CONFORMANCE_SENTENCES.join(' '), language: 'en', durationSeconds, segments };
}

/** What this provider needs from the engine pool, which is a lower-level module. */
export interface Renderer {
  has(engine: string): boolean;
  render(
    job: {
      readonly engine: string;
      readonly input: Readonly<Record<string, unknown>>;
      readonly fallbackSeed: number;
      readonly media: ReadonlyMap<string, InputFile>;
      readonly scratch: string;
    },
    options: {
      readonly tenant: string;
      readonly signal: AbortSignal;
      readonly onProgress: (fraction: number) => void;
    },
  ): Promise<readonly ({ readonly bytes: Uint8Array } | { readonly path: string })[]>;
  enter(engine: string, options: { readonly tenant: string; readonly signal: AbortSignal }): Promise<Lease | undefined>;
}

function producedFrom(file: { readonly bytes: Uint8Array } | { readonly path: string }): ProducedFile {
  return 'bytes' in file ? { from: 'bytes', bytes: file.bytes } : { from: 'file', path: file.path };
}

/** 0 to 2147483647, like the models' own `seed`: the same for every attempt of a task. */
function seedFromTask(taskId: TaskId): number {
  return createHash('sha256').update(taskId).digest().readUInt32BE(0) >>> 1;
}

/**
 * The provider of protocol `embedded`; an upstream's `model` is the engine's name, its `parameters` override the
 * input.
 *
 * `submit` throws `ProviderRejection('model_unavailable')` if this version has no such engine,
 * `ProviderFailure('input_invalid')` if a file of the input cannot be used, `AbortError` when the call's signal fires,
 * and a plain error if the thread died: rendering again is safe.
 */
export function createEmbeddedProvider(pool: Renderer): Provider {
  return {
    protocol: 'embedded',
    isSubmitRepeatable: true,
    worksWhileSubmitting: true,
    takesMediaAsFiles: true,
    enter: (upstream, { accountId, signal }) =>
      upstream.model === CONFORMANCE_TRANSCRIPTION
        ? Promise.resolve(undefined)
        : pool.enter(upstream.model, { tenant: accountId, signal }),
    async submit({ taskId, upstream, input, media, inputSeconds }, { accountId, signal, scratch, onProgress }) {
      if (upstream.model === CONFORMANCE_TRANSCRIPTION) {
        return { kind: 'done', files: filesOfTranscript(conformanceTranscript(inputSeconds), input) };
      }
      if (!pool.has(upstream.model)) {
        const note = `this release has no engine of the name ${JSON.stringify(upstream.model)}`;
        throw new ProviderRejection('model_unavailable', { note });
      }
      const job = {
        engine: upstream.model,
        input: { ...input, ...upstream.parameters },
        fallbackSeed: seedFromTask(taskId),
        media: media ?? new Map<string, InputFile>(),
        scratch,
      };
      const files = await pool.render(job, { tenant: accountId, signal, onProgress }).catch((error: unknown) => {
        if (error instanceof UnusableInputError) {
          throw new ProviderFailure(reasonOfFault(error.fault.kind), { fault: error.fault, cause: error });
        }
        throw error;
      });
      return { kind: 'done', files: files.map(producedFrom) };
    },
    // This provider issues no job ids: a polled id belongs to another provider.
    async poll() {
      throw new ProviderFailure('provider_error');
    },
    async cancel() {
      return { outcome: 'unsupported' };
    },
  };
}
