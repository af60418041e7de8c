/**
 * What `models try` prints: each step as it happens, or all of them as JSON at the end. Everything that comes from a
 * provider passes through here, so that none of it reaches a terminal as a control sequence.
 */
import type { DescribedPart } from '../../../providers/request-body.ts';

/** A request, and which member of the file each of its parts comes from. */
export interface RequestStep {
  readonly step: 'request';
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly form?: readonly DescribedPart[];
  readonly bytes?: { readonly mimeType: string; readonly byteLength: number };
  /** By part: `url`, `headers.x-key`, `body`. */
  readonly members: Readonly<Record<string, string>>;
}

export interface ResponseStep {
  readonly step: 'response';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly text?: string;
  readonly fileBytes?: number;
  /** What is wrong with it. */
  readonly problem?: string;
}

/** What an expression gave, which is not itself a part of a request. */
export interface ValueStep {
  readonly step: 'value';
  readonly member: string;
  readonly value: unknown;
}

/** Something that the author of the file, or the operator, has to change. */
export interface ProblemStep {
  readonly step: 'problem';
  readonly member?: string;
  readonly problem: string;
}

/** What the workbench itself has to say. */
export interface NoteStep {
  readonly step: 'note';
  readonly text: string;
}

export type Step = RequestStep | ResponseStep | ValueStep | ProblemStep | NoteStep;

export interface RunLog {
  add(step: Step): void;
  /** All problems, each once. */
  readonly problems: readonly ProblemStep[];
  readonly steps: readonly Step[];
}

const MAX_STEPS = 10_000;
/** A longer text of base64 is cut. */
const LONGEST_BASE64 = 200;
const SHOWN_BASE64 = 40;
/** The longest text of a response that is shown, in characters. */
const LONGEST_TEXT = 8_000;

/** @param write prints a line; undefined: nothing is printed as it happens. */
export function createRunLog(write: ((line: string) => void) | undefined): RunLog {
  const steps: Step[] = [];
  const problems: ProblemStep[] = [];
  /** The last of its kind, by what identifies it: a job is polled many times, and mostly nothing has changed. */
  const last = new Map<string, string>();

  return {
    add(step) {
      const shortened = shorten(step);
      const text = linesOf(shortened).join('\n');
      if (step.step === 'problem') {
        if (problems.some(({ member, problem }) => member === step.member && problem === step.problem)) return;
        problems.push(step);
      }
      const key = keyOf(step);
      const isRepeated = key !== undefined && last.get(key) === text;
      if (key !== undefined) last.set(key, text);
      if (isRepeated && step.step === 'value') return;
      const kept: Step = isRepeated ? { step: 'note', text: repeated(step) } : shortened;
      if (steps.length < MAX_STEPS) steps.push(kept);
      write?.(isRepeated ? repeated(step) : text);
    },
    problems,
    steps,
  };
}

function keyOf(step: Step): string | undefined {
  switch (step.step) {
    case 'request':
      return `${step.method} ${step.url}`;
    case 'response':
      return 'response';
    case 'value':
      return step.member;
    default:
      return undefined;
  }
}

function repeated(step: Step): string {
  if (step.step === 'request') return `${step.method} ${step.url}, as before`;
  return step.step === 'response' ? `response ${step.status}, as before` : '';
}

function linesOf(step: Step): readonly string[] {
  switch (step.step) {
    case 'request':
      return requestLines(step);
    case 'response':
      return responseLines(step);
    case 'value':
      return [`  ${step.member} = ${step.value === undefined ? 'nothing' : JSON.stringify(step.value)}`];
    case 'problem':
      return [`! ${step.member === undefined ? '' : `${step.member}: `}${step.problem}`];
    case 'note':
      return [step.text];
  }
}

function requestLines({ method, url, headers, body, form, bytes, members }: RequestStep): readonly string[] {
  const from = (part: string): string => (members[part] === undefined ? '' : `    <- ${members[part]}`);
  return [
    '',
    `${method} ${url}${from('url')}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}${from(`headers.${name}`)}`),
    ...(body === undefined ? [] : ['', ...prettyLines(body), ...(from('body') === '' ? [] : [from('body').trim()])]),
    ...(form ?? []).map((part, index) => `${index === 0 ? '\n' : ''}${partLine(part)}${from(`form.${index}`)}`),
    ...(bytes === undefined ? [] : ['', `<${bytes.mimeType}, ${bytes.byteLength} bytes>`]),
    '',
  ];
}

function partLine(part: DescribedPart): string {
  if ('text' in part) return `  ${part.name} = ${part.text}`;
  return `  ${part.name} = <${part.mimeType}, ${part.byteLength} bytes, ${part.fileName}>`;
}

function responseLines({ status, headers, body, text, fileBytes, problem }: ResponseStep): readonly string[] {
  return [
    `response ${status}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : prettyLines(body)),
    ...(text === undefined ? [] : [text]),
    ...(fileBytes === undefined ? [] : [`<a file of ${fileBytes} bytes>`]),
    ...(problem === undefined ? [] : [`! the response ${problem}`]),
    '',
  ];
}

function prettyLines(value: unknown): readonly string[] {
  return JSON.stringify(value, null, 2).split('\n');
}

/** A step with its base64 cut; and what comes from a provider cut to a bound. */
function shorten(step: Step): Step {
  switch (step.step) {
    case 'request':
      return step.body === undefined ? step : { ...step, body: withoutBase64(step.body) };
    case 'response': {
      const { body, text, ...rest } = step;
      const bounded = body === undefined ? undefined : boundedJson(withoutBase64(body));
      if (bounded !== undefined && 'json' in bounded) return { ...rest, body: bounded.json };
      const shown = bounded?.text ?? text;
      return shown === undefined ? rest : { ...rest, text: cut(shown, LONGEST_TEXT) };
    }
    case 'value': {
      if (step.value === undefined) return step;
      const bounded = boundedJson(withoutBase64(step.value));
      return { ...step, value: 'json' in bounded ? bounded.json : bounded.text };
    }
    case 'problem':
      return { ...step, problem: cut(step.problem, LONGEST_TEXT) };
    case 'note':
      return step;
  }
}

/** A value, or its beginning as a text if it is long. */
function boundedJson(value: unknown): { readonly json: unknown } | { readonly text: string } {
  const text = JSON.stringify(value, null, 2);
  return text.length <= LONGEST_TEXT ? { json: value } : { text: cut(text, LONGEST_TEXT) };
}

function withoutBase64(value: unknown): unknown {
  if (typeof value === 'string') return isBase64(value) ? cut(value, SHOWN_BASE64) : value;
  if (Array.isArray(value)) return value.map(withoutBase64);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutBase64(member)]));
}

function isBase64(text: string): boolean {
  return text.length > LONGEST_BASE64 && /^(data:[^,]{0,200},)?[A-Za-z0-9+/_-]+={0,2}$/.test(text);
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}... (${text.length} characters)`;
}

/** A text that a terminal shows as it is: control characters and those that reorder a line become escapes of JSON. */
export function printable(text: string): string {
  return text.replaceAll(
    /[^\P{Cc}\n\t]|[\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
