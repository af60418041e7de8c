/** What each expression of a binding has to give, and what it gave, in words, for the author of a model file. */
import { USAGE_NAMES } from '../../domain/provider-usage.ts';
import { retryAfterMsOf } from '../answer-status.ts';
import { isUsage, microUsdOf } from '../consumption.ts';
import { isWebAddress } from '../json-answer.ts';
import { findNearMiss } from './hosts.ts';
import type { HostScope } from './hosts.ts';
import {
  OUTCOMES,
  REASONS,
  STATES,
  addressOf,
  filesOf,
  headerOf,
  jobIdOf,
  listed,
  outcomeOf,
  progressOf,
  reasonOf,
  stateOf,
} from './values.ts';

interface Expected {
  readonly words: string;
  /** Whether giving nothing is fine. */
  readonly isOptional: boolean;
  isMet(value: unknown, scope: HostScope): boolean;
}

const needed = (words: string, isMet: Expected['isMet']): Expected => ({ words, isOptional: false, isMet });
const optional = (words: string, isMet: Expected['isMet']): Expected => ({ words, isOptional: true, isMet });

const address = needed(
  'a path that begins with /, or a URL on the host of baseUrl or one of hosts',
  (value, scope) => addressOf(value, scope) !== undefined,
);
const body = needed('a value that is sent as JSON', () => true);
const retryAfter = optional('seconds or a date', (value) => retryAfterMsOf(value) !== undefined);
const reason = optional(listed(REASONS), (value) => reasonOf(value) !== undefined);
const usage = optional(`an object with numbers, from ${listed(USAGE_NAMES)}`, isUsage);
const cost = optional('an amount in USD', (value) => microUsdOf(value) !== undefined);
const header = optional('one line of printable ASCII', (value) => headerOf(value) !== undefined);
const fields = optional('an object', (value) => typeof value === 'object' && value !== null);

/** By the position in the binding. The body of a poll or a cancel and the values of a form may be anything. */
const EXPECTED: Readonly<Record<string, Expected>> = {
  'preflight.path': address,
  'preflight.refusal': needed(`false, ${listed(REASONS)}`, (value) => value === false || reasonOf(value) !== undefined),
  'submit.path': address,
  'submit.body': body,
  'submit.refusal': reason,
  'submit.retryAfter': retryAfter,
  'submit.usage': usage,
  'submit.cost': cost,
  'upload.path': address,
  'upload.body': body,
  'upload.send.url': address,
  'upload.reference': needed('what the provider calls the file', () => true),
  jobId: needed(
    'an integer below 2^53, or a word of at most 200 letters, digits, and _ . : - that begins with a letter or digit',
    (value) => jobIdOf(value) !== undefined,
  ),
  'poll.path': address,
  'poll.state': needed(listed(STATES), (value) => stateOf(value) !== undefined),
  'poll.progress': optional('a number from 0 to 1', (value) => progressOf(value) !== undefined),
  'poll.retryAfter': retryAfter,
  'result.path': address,
  outputs: needed(
    'web addresses, paths that begin with /, data: URLs, { "base64": … } or { "transcript": … }',
    (value, scope) => filesOf(value, scope, {}).length > 0,
  ),
  usage,
  cost,
  reason,
  'cancel.path': address,
  'cancel.outcome': optional(listed(OUTCOMES), (value) => outcomeOf(value) !== undefined),
  'cancel.cost': cost,
};

/**
 * Whether an expression gave what its position needs.
 *
 * @param member its position in the binding: `poll.state`. @returns what was expected instead; undefined: it did.
 */
export function findUnmetExpectation(member: string, value: unknown, scope: HostScope): string | undefined {
  const expected = expectedAt(member);
  if (expected === undefined) return undefined;
  // Many providers write null for what they do not have.
  const isNothing = value === undefined || (value === null && expected.isOptional);
  const isMet = isNothing ? expected.isOptional : expected.isMet(value, scope);
  if (isMet) return undefined;
  const nearMiss =
    expected === address && typeof value === 'string' && isWebAddress(value)
      ? findNearMiss(new URL(value), scope)
      : undefined;
  return nearMiss === undefined ? expected.words : `${expected.words} (${nearMiss})`;
}

function expectedAt(member: string): Expected | undefined {
  if (Object.hasOwn(EXPECTED, member)) return EXPECTED[member];
  if (/^(submit|upload|upload\.send)\.headers\./.test(member)) return header;
  return /\.form\.\d+\.fields$/.test(member) ? fields : undefined;
}

/**
 * What an expression gave, in words for the operator's log: its type and size, a number, the host of a URL, and never a
 * text, because it may quote a prompt or a credential.
 */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return describeText(value);
  if (typeof value === 'number') return `the number ${value}`;
  if (Array.isArray(value)) return describeList(value);
  return value === null || typeof value === 'boolean' ? String(value) : 'an object';
}

function describeText(text: string): string {
  if (text === '') return 'an empty text';
  const length = `${text.length} ${text.length === 1 ? 'character' : 'characters'}`;
  if (/^data:/i.test(text)) return `a data URL of ${length}`;
  const { host = '', protocol = '' } = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : {};
  if (host !== '') return `a URL at ${protocol}//${host}`;
  return `a text of ${length}`;
}

function describeList(values: readonly unknown[]): string {
  if (values.length === 0) return 'an empty list';
  const [first] = values;
  const isNested = Array.isArray(first);
  return `a list of ${values.length}, which begins with ${isNested ? 'a list' : describeValue(first)}`;
}
