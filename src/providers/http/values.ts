/**
 * How the values of a model file's expressions are interpreted. They come from a provider's response, so each may be
 * of any type; a value that is not exactly of the expected form counts as absent.
 */
import type { FailureReason } from '../../domain/failure-reason.ts';
import { transcriptOf } from '../../transcripts/transcript.ts';
import { isWebAddress, jobIdAt, textAt, valueAt } from '../json-answer.ts';
import { filesOfBase64, filesOfText, filesOfTranscript } from '../output-files.ts';
import type { CancelOutcome, GenerationRequest, ProducedFile } from '../provider.ts';
import { urlOf } from '../upstream-target.ts';
import type { Address } from '../upstream-target.ts';
import { isAllowed } from './hosts.ts';
import type { HostScope } from './hosts.ts';

/** The reasons that an upstream can report; only we set the others of the closed list. */
export const REASONS: readonly FailureReason[] = [
  'content_rejected',
  'input_unreachable',
  'input_invalid',
  'no_output',
  'provider_unavailable',
  'provider_error',
  'model_unavailable',
];
export const STATES = ['running', 'done', 'failed'] as const;
export const OUTCOMES: readonly CancelOutcome[] = ['cancelled', 'too_late', 'unsupported'];
const MAX_PATH_LENGTH = 4_096;

export type JobStateWord = (typeof STATES)[number];

/** Some providers number their jobs. A larger number was rounded when it was read, and is the id of another job. */
export function jobIdOf(value: unknown): string | undefined {
  return jobIdAt(Number.isSafeInteger(value) ? String(value) : value);
}

export function reasonOf(value: unknown): FailureReason | undefined {
  return REASONS.find((reason) => reason === value);
}

export function stateOf(value: unknown): JobStateWord | undefined {
  return STATES.find((state) => state === value);
}

export function outcomeOf(value: unknown): CancelOutcome | undefined {
  return OUTCOMES.find((outcome) => outcome === value);
}

/** 0 to 1. */
export function progressOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined;
}

/** A path below the base URL: it leads nowhere else, and its dot segments cannot climb. */
export function pathOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_PATH_LENGTH) return undefined;
  if (!/^\/[\x21-\x7e]*$/.test(value) || /[#\\]/.test(value)) return undefined;
  const [path = ''] = value.split('?');
  return path.split('/').some((segment) => /^(\.|%2e){1,2}$/i.test(segment)) ? undefined : value;
}

/**
 * Where a request goes: a path below the base URL, or an absolute URL on one of the binding's hosts.
 *
 * @returns undefined if it may not go there.
 */
export function addressOf(value: unknown, scope: HostScope): Address | undefined {
  if (typeof value !== 'string' || value.length > MAX_PATH_LENGTH) return undefined;
  if (!isWebAddress(value)) return pathOf(value);
  const url = new URL(value);
  url.hash = '';
  if (scope.baseUrl !== undefined && url.origin === new URL(scope.baseUrl).origin) return url;
  return isAllowed(url, scope) ? url : undefined;
}

/** The value of a header: one line of visible characters. */
export function headerOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x20-\x7e]{1,4096}$/.test(value) ? value : undefined;
}

/**
 * The files that an expression names: URLs, paths below the base URL, data URLs, base64 if declared as such, and those
 * of a transcript.
 *
 * @param input names the formats of a transcript.
 */
export function filesOf(value: unknown, scope: HostScope, input: GenerationRequest['input']): readonly ProducedFile[] {
  return (Array.isArray(value) ? value : [value]).flatMap((item: unknown) => {
    const transcript = transcriptOf(valueAt(item, 'transcript'));
    if (transcript !== undefined) return filesOfTranscript(transcript, input);
    const base64 = textAt(item, 'base64');
    if (base64 !== undefined) return filesOfBase64(base64);
    const path = pathOf(item);
    const url = path === undefined ? undefined : urlOf(scope, path);
    if (url !== undefined) return [{ from: 'url', url: url.href }];
    return typeof item === 'string' ? filesOfText(item) : [];
  });
}

/** `running, done or failed` */
export function listed(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
}
