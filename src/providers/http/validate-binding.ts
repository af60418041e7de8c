/** Validates a binding beyond its form, when the model file is read. */
import jsonata from 'jsonata';
import { textAt, valueAt } from '../json-answer.ts';
import { findAuthProblem } from './auth/auth.ts';
import { BODY_OUTPUT } from './binding.ts';
import type { FormPartBinding, HttpBinding, UploadBinding } from './binding.ts';
import { findHookProblem, usesDerivedSecret } from '../hooks/hook-rules.ts';
import { findUnusableConstants } from './constants.ts';

/** They make an expression out of data, or return another result each time: a repeated submit must stay the same. */
const BARRED_FUNCTIONS: readonly string[] = ['eval', 'now', 'millis', 'random', 'shuffle'];

/** Headers that a file may not set, with the reason. */
const BARRED_HEADERS: readonly (readonly [reason: string, names: readonly string[]])[] = [
  ['auth sends the credential', ['authorization', 'proxy-authorization', 'cookie']],
  [
    'it is set for each request',
    [
      'host',
      'connection',
      'transfer-encoding',
      'content-length',
      'content-type',
      'accept',
      'accept-encoding',
      'user-agent',
      'expect',
      'upgrade',
    ],
  ],
];

/** Whether any expression of a submit reads this variable. */
export function submitReads({ submit }: HttpBinding, variable: 'taskId' | 'hookUrl' | 'hookSecret'): boolean {
  const texts = [
    submit.path,
    submit.body,
    ...Object.values(submit.headers ?? {}),
    ...(submit.form ?? []).flatMap(({ value, fields }) => [value, fields]),
  ];
  return texts.some((text) => text !== undefined && variablesOf(jsonata(text).ast()).has(variable));
}

/** @returns everything that is wrong with a binding beyond its form, with its position. */
export function findBindingProblems(binding: HttpBinding): readonly string[] {
  return [...findMemberProblems(binding), ...findBindingGaps(binding)];
}

/** @returns what is wrong with single members. */
export function findMemberProblems(binding: HttpBinding): readonly string[] {
  const { auth, hook } = binding;
  const hookProblem = hook === undefined ? undefined : findHookProblem(hook);
  const others = [
    auth === undefined ? undefined : findAuthProblem(auth),
    ...findHeaderProblems(binding),
    ...findBodyProblems(binding),
    findOutputProblem(binding),
    hookProblem === undefined ? undefined : `hook.${hookProblem}`,
  ];
  return [
    ...findExpressionProblems(binding),
    ...findConstantProblems(binding),
    ...others.filter((problem) => problem !== undefined),
  ];
}

/** @returns what a binding lacks as a whole. */
export function findBindingGaps(binding: HttpBinding): readonly string[] {
  const { poll, jobId, result, unbilled, cancel, submit } = binding;
  // What an expression sends is known only of one that can be read.
  const isReadable = findExpressionProblems(binding).length === 0;
  const gaps = [
    (submit.body === undefined) === (submit.form === undefined) ? 'submit: it needs either body or form' : undefined,
    ...findMediaGaps(binding),
    isReadable ? findCallGap(binding) : undefined,
    (jobId === undefined) === (poll === undefined) ? undefined : 'poll: it and jobId need one another',
    jobId === undefined ? findConsumptionProblem(binding) : undefined,
    jobId === undefined && (result ?? cancel ?? unbilled) !== undefined
      ? 'jobId: missing; result, cancel and unbilled need one'
      : undefined,
    binding.isSubmitRepeatable === true && isReadable && !submitReads(binding, 'taskId')
      ? 'isSubmitRepeatable: no expression of submit sends $taskId'
      : undefined,
  ];
  return gaps.filter((problem) => problem !== undefined);
}

function findExpressionProblems(binding: HttpBinding): readonly string[] {
  return expressionsOf(binding).flatMap(([name, text]) => {
    const problem = text === undefined ? undefined : findExpressionProblem(text);
    return problem === undefined ? [] : `${name}: ${problem}`;
  });
}

/** Values that are written in an expression and that its position never accepts. */
function findConstantProblems(binding: HttpBinding): readonly string[] {
  return expressionsOf(binding).flatMap(([name, text]) =>
    text === undefined || findExpressionProblem(text) !== undefined
      ? []
      : findUnusableConstants(name, text).map((problem) => `${name}: ${problem}`),
  );
}

function findHeaderProblems({ headers, submit, upload }: HttpBinding): readonly string[] {
  const all = [
    ['headers', headers],
    ['submit.headers', submit.headers],
    ['upload.headers', upload?.headers],
    ['upload.send.headers', upload?.send?.headers],
  ] as const;
  return all.flatMap(([position, names = {}]) =>
    Object.keys(names).flatMap((name) => {
      const reason = BARRED_HEADERS.find(([, barred]) => barred.includes(name.toLowerCase()))?.[0];
      return reason === undefined ? [] : `${position}.${name}: ${name} is not for a model file to set: ${reason}`;
    }),
  );
}

function findBodyProblems({ auth, submit, upload }: HttpBinding): readonly string[] {
  return [
    ...(submit.form !== undefined && auth?.scheme === 'sigv4'
      ? ['submit.form: scheme sigv4 signs the body, and a form is streamed']
      : []),
    ...findFormProblems('submit.form', submit.form, (part) =>
      part.isFile === undefined ? findPartProblem(part) : 'isFile: only upload has a file',
    ),
    ...(upload === undefined ? [] : findUploadProblems(upload)),
  ];
}

function findUploadProblems({ body, form, send }: UploadBinding): readonly string[] {
  const forms = [
    ['upload.form', form],
    ['upload.send.form', send?.form],
  ] as const;
  return [
    ...(body !== undefined && form !== undefined ? ['upload: it needs either body or form'] : []),
    ...((body === undefined) === (send === undefined) ? [] : ['upload.send: it and body need one another']),
    ...forms.flatMap(([where, parts]) => [
      ...findFormProblems(where, parts, (part) =>
        part.media === undefined ? findPartProblem(part) : 'media: isFile is the file of an upload',
      ),
      ...(parts === undefined || parts.filter(({ isFile }) => isFile === true).length === 1
        ? []
        : [`${where}: it needs one part with isFile`]),
    ]),
  ];
}

function findFormProblems(
  where: string,
  parts: readonly FormPartBinding[] = [],
  find: (part: FormPartBinding) => string | undefined,
): readonly string[] {
  return parts.flatMap((part, index) => {
    const problem = find(part);
    return problem === undefined ? [] : `${where}.${index}.${problem}`;
  });
}

function findPartProblem({ name, value, fields, media, isFile }: FormPartBinding): string | undefined {
  const contents = [value, fields, media, isFile].filter((content) => content !== undefined);
  if (contents.length !== 1) return 'value: a part has one of value, fields, media and isFile';
  if (fields === undefined) return name === undefined ? 'name: missing' : undefined;
  return name === undefined ? undefined : 'name: fields has the names';
}

function findMediaGaps({ media = {}, upload, submit }: HttpBinding): readonly string[] {
  const fieldsOf = (wanted: string) => Object.entries(media).flatMap(([field, mode]) => (mode === wanted ? field : []));
  const uploaded = fieldsOf('upload');
  return [
    ...(upload === undefined ? uploaded.map((field) => `media.${field}: there is no upload`) : []),
    ...(upload !== undefined && uploaded.length === 0 ? ['upload: no field of media is uploaded'] : []),
    ...(submit.body === undefined
      ? fieldsOf('inline').map((field) => `media.${field}: in a form, a part with media sends the file`)
      : []),
  ];
}

function findOutputProblem({ outputs, poll, result, usage, cost }: HttpBinding): string | undefined {
  if (outputs.trim() !== BODY_OUTPUT) return undefined;
  if (poll === undefined) {
    const unread = usage === undefined ? 'cost' : 'usage';
    return (usage ?? cost) === undefined ? undefined : `${unread}: the response to the submit is a file`;
  }
  return result === undefined ? 'outputs: $body is the response of result, or of a submit without jobs' : undefined;
}

/** Without jobs, the response to the submit is the one that brings the outputs. */
function findConsumptionProblem({ submit }: HttpBinding): string | undefined {
  const member = (['usage', 'cost'] as const).find((name) => submit[name] !== undefined);
  return member === undefined ? undefined : `submit.${member}: it needs jobId; without jobs there is ${member}`;
}

/** A provider calls only the address that it was sent. */
function findCallGap(binding: HttpBinding): string | undefined {
  const { hook } = binding;
  const sendsSecret = submitReads(binding, 'hookSecret');
  if (hook !== undefined) {
    if (!submitReads(binding, 'hookUrl')) return 'hook: no expression of submit sends $hookUrl';
    if (findHookProblem(hook) !== undefined) return undefined;
    if (usesDerivedSecret(hook)) {
      return sendsSecret ? undefined : 'hook.verify.secret: missing, and no expression of submit sends $hookSecret';
    }
  }
  return sendsSecret ? 'submit: $hookSecret is for scheme hmac-sha256 of hook.verify without a secret' : undefined;
}

/** The fields of the input whose files a binding sends, by the positions that name them. */
export function mediaFieldsOf({ media = {}, submit }: HttpBinding): readonly (readonly [string, string])[] {
  return [
    ...Object.entries(media).flatMap(([field, mode]) => (mode === 'url' ? [] : [[`media.${field}`, field] as const])),
    ...(submit.form ?? []).flatMap(({ media: field }, index) =>
      field === undefined ? [] : [[`submit.form.${index}.media`, field] as const],
    ),
  ];
}

/** Every expression of a binding with its position; undefined where a file has none. */
export function expressionsOf(binding: HttpBinding): readonly (readonly [string, string | undefined])[] {
  const { preflight, submit, upload, jobId, poll, result, outputs, usage, cost, reason, unbilled, cancel } = binding;
  return [
    ['preflight.path', preflight?.path],
    ['preflight.refusal', preflight?.refusal],
    ['submit.path', submit.path],
    ['submit.body', submit.body],
    ...headersOf('submit.headers', submit.headers),
    ...partsOf('submit.form', submit.form),
    ['submit.refusal', submit.refusal],
    ['submit.retryAfter', submit.retryAfter],
    ['submit.usage', submit.usage],
    ['submit.cost', submit.cost],
    ['upload.path', upload?.path],
    ['upload.body', upload?.body],
    ...headersOf('upload.headers', upload?.headers),
    ...partsOf('upload.form', upload?.form),
    ['upload.send.url', upload?.send?.url],
    ...headersOf('upload.send.headers', upload?.send?.headers),
    ...partsOf('upload.send.form', upload?.send?.form),
    ['upload.reference', upload?.reference],
    ['jobId', jobId],
    ['poll.path', poll?.path],
    ['poll.body', poll?.body],
    ['poll.state', poll?.state],
    ['poll.progress', poll?.progress],
    ['poll.retryAfter', poll?.retryAfter],
    ['result.path', result?.path],
    ['outputs', outputs],
    ['usage', usage],
    ['cost', cost],
    ['reason', reason],
    ['unbilled', unbilled],
    ['cancel.path', cancel?.path],
    ['cancel.body', cancel?.body],
    ['cancel.outcome', cancel?.outcome],
    ['cancel.cost', cancel?.cost],
  ];
}

function headersOf(where: string, headers: Readonly<Record<string, string>> = {}) {
  return Object.entries(headers).map(([name, text]) => [`${where}.${name}`, text] as const);
}

function partsOf(where: string, parts: readonly FormPartBinding[] = []) {
  return parts.flatMap(({ value, fields }, index) => [
    [`${where}.${index}.value`, value] as const,
    [`${where}.${index}.fields`, fields] as const,
  ]);
}

function findExpressionProblem(text: string): string | undefined {
  let variables;
  try {
    variables = variablesOf(jsonata(text).ast());
  } catch (error) {
    // Objects of the library, which are no errors.
    const at = valueAt(error, 'position');
    return `not JSONata: ${textAt(error, 'message') ?? 'it cannot be read'}${typeof at === 'number' ? ` at character ${at}` : ''}`;
  }
  const barred = BARRED_FUNCTIONS.find((name) => variables.has(name));
  return barred === undefined ? undefined : `$${barred} is not available here`;
}

/** The names of all variables and functions in a syntax tree. */
function variablesOf(tree: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const seen = new Set<unknown>();
  const rest: unknown[] = [tree];
  while (rest.length > 0) {
    const node = rest.pop();
    if (typeof node !== 'object' || node === null || seen.has(node)) continue;
    seen.add(node);
    if ('type' in node && node.type === 'variable' && 'value' in node) names.add(String(node.value));
    rest.push(...Object.values(node));
  }
  return names;
}
