/**
 * `admin models try`: runs one input through an upstream of a model file, as a worker does, and shows every step. It
 * needs neither a database nor Temporal.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { ResolvedModel } from '../../../catalogue/catalogue.ts';
import { limitsOf } from '../../../catalogue/definition.ts';
import type { ModelDefinition, Upstream } from '../../../catalogue/definition.ts';
import { quote } from '../../../catalogue/price.ts';
import { loadUpstreamEnvironment } from '../../../config/config.ts';
import { newTaskId } from '../../../domain/ids.ts';
import { formatUsd } from '../../../domain/money.ts';
import { withFormats } from '../../../generation/transcript-formats.ts';
import { findBinding } from '../../../providers/http/binding.ts';
import type { HttpBinding } from '../../../providers/http/binding.ts';
import { isBody } from '../../../providers/http/http-provider.ts';
import { expressionsOf } from '../../../providers/http/validate-binding.ts';
import type { GenerationRequest, ProducedFile } from '../../../providers/provider.ts';
import { createSecretSource, secretVariable } from '../../../upstreams/secrets.ts';
import { AdminError } from '../admin-error.ts';
import { createNotes, createProvider } from './bound-provider.ts';
import { isMet, readExpectation } from './expectation.ts';
import { requireAnswer, describeQuote, moneyLines, moneyOf } from './money.ts';
import { createCredentialMask, findCredential } from './credential.ts';
import type { CredentialMask } from './credential.ts';
import type { Expectation } from './expectation.ts';
import { readInput, readMedia, stageMedia } from './input.ts';
import { observe } from './observe.ts';
import { createOutputDirectory, storeOutputs } from './outputs.ts';
import { createRecorder, playBack, readRecording } from './recording.ts';
import type { Recording } from './recording.ts';
import { resolveUpstream } from './resolve-upstream.ts';
import { startDeadline, startStopping } from './stopping.ts';
import type { Stopping } from './stopping.ts';
import { createRunLog, printable } from './run-log.ts';
import type { RunLog } from './run-log.ts';
import { cancel, runWork } from './work.ts';
import type { Ending, Work } from './work.ts';

interface Surroundings {
  readonly isJson: boolean;
  readonly environment: NodeJS.ProcessEnv;
  /** Writes to standard output. */
  readonly print: (text: string) => void;
}

export interface TryOptions {
  readonly input?: readonly string[];
  readonly media?: readonly string[];
  readonly route?: string;
  readonly upstream?: number;
  readonly send?: true;
  readonly yes?: true;
  readonly timeout?: number;
  readonly output?: string;
  readonly record?: string;
  readonly recording?: string;
  readonly expect?: string;
}

/**
 * Runs one input through an upstream and prints what happens.
 *
 * @throws {AdminError} the arguments or the file are wrong, or an expression did not give what its member needs.
 */
export async function tryModel(
  file: string,
  options: TryOptions,
  { isJson, environment, print }: Surroundings,
): Promise<void> {
  requireMatchingOptions(options);
  const write = isJson ? undefined : (line: string): void => print(`${printable(line)}\n`);
  const log = createRunLog(write);
  const upstreams = loadUpstreamEnvironment(environment);
  const { definition, position, upstream, model } = await resolveUpstream(file, options, upstreams);
  const recording = options.recording === undefined ? undefined : await readRecording(options.recording);
  const expectation = expectationOf(options, recording);
  const { inputSchema: schema } = definition;
  const read = await readInput(options.input ?? [], recording?.input ?? definition.examples[0] ?? {}, schema);
  const { files: given, input } = readMedia(options.media ?? [], read, schema);
  requireValid(model, input);
  const price = priceOf(definition, input);
  const facts = { file, model: definition.name, upstream: position, protocol: upstream.protocol, input, price };
  if (write !== undefined) printRecord(facts, write);

  const http = findBinding(upstream);
  const credential = await findCredential(upstream, upstreams, http?.auth);
  const mask = createCredentialMask(upstream.secret, credential.secret, http?.auth);
  if (!credential.isConfigured) {
    const problem = `${secretVariable(upstream.secret ?? '')} is not set`;
    if (options.send === true) throw new AdminError(`${problem}, and ${position}.secret names it`);
    log.add({ step: 'note', text: `${problem}: it is needed to send.` });
  }
  const taskId = recording?.taskId ?? newTaskId();
  const { baseUrl } = upstream;
  const origin = { ...(baseUrl === undefined ? {} : { baseUrl }), ...(expectation && { expect: expectation.text }) };
  const recorder =
    options.record === undefined ? undefined : await createRecorder(options.record, { taskId, input, ...origin });
  const playback = recording === undefined ? undefined : playBack(recording, baseUrl);
  const source = playback ?? (options.send === true ? 'provider' : 'nowhere');
  const scope = { baseUrl, hosts: http?.hosts };
  const observed = observe({ source, log, mask, recorder, position, http, scope });
  const provider = createProvider(upstream, definition, {
    secrets: createSecretSource(credential.values),
    logger: createNotes(log),
    workbench: observed.workbench,
  });
  if (upstream.provider !== undefined) {
    const text = `What the file lacks of ${position} comes from the file of the provider ${upstream.provider}.`;
    log.add({ step: 'note', text });
  }
  if (provider.callsBack === true) {
    log.add({ step: 'note', text: 'A worker also sends the URL for callbacks, $hookUrl; here it is absent.' });
  }

  const scratch = await mkdtemp(path.join(os.tmpdir(), 'darkroom-try-'));
  let interrupts: Stopping | undefined;
  let stopping: Stopping | undefined;
  try {
    const media = await stageMedia(provider, { schema, input, given, scratch });
    if (options.output !== undefined && source !== 'nowhere') await createOutputDirectory(options.output);
    if (options.send === true) await requireConsent(options, upstream, price);
    interrupts = startStopping(() => recorder?.save());
    stopping = startDeadline(options.timeout ?? limitsOf(definition).handlingSeconds, interrupts.signal);
    const sent = withFormats(definition, input);
    const request: GenerationRequest = { taskId, upstream, input: sent, ...(media.size === 0 ? {} : { media }) };
    const work: Work = {
      provider,
      request,
      scratch,
      stop: stopping.signal,
      isPlayedBack: source !== 'provider',
      hasEnded: () => observed.hasEnded,
      note: (text) => log.add({ step: 'note', text: mask.text(text) }),
    };
    const { ending, jobId } = await runWork(work);
    // What is left of a recording may be the answer to a request to cancel.
    if (playback?.isOver === false && jobId !== undefined && http?.cancel !== undefined) await cancel(work, jobId);
    if (http !== undefined && playback !== undefined) noteMissed(http, observed.evaluated, log);
    const isShownOnly = source !== 'provider' && observed.hasEnded;
    const isAsExpected = expectation === undefined ? undefined : !isShownOnly && isMet(expectation, ending);
    const result = {
      ...(isShownOnly ? {} : presentEnding(ending, mask)),
      ...(expectation === undefined ? {} : { expected: expectation.text, met: isAsExpected }),
    };
    const money = isShownOnly ? undefined : moneyOf(ending, { definition, upstream, input, sent });
    const stored =
      ending.kind === 'done' && options.output !== undefined
        ? await storeOutputs(ending.files, options.output, work, environment, stopping.signal)
        : [];
    if (write === undefined) {
      const report = { ...facts, steps: log.steps, result: { ...result, ...money }, stored };
      print(`${printable(JSON.stringify(report, null, 2))}\n`);
    } else {
      const lines = money === undefined ? {} : moneyLines(money);
      printRecord({ ...result, ...lines, ...(stored.length === 0 ? {} : { stored }) }, write);
    }
    if (expectation === undefined) requireSuccess(log, ending, isShownOnly);
    else if (isAsExpected !== true) throw unexpected(expectation, log, isShownOnly ? undefined : ending);
  } finally {
    stopping?.end();
    interrupts?.end();
    recorder?.save();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Says which expressions no response of a recording was for. */
function noteMissed(http: HttpBinding, evaluated: ReadonlySet<string>, log: RunLog): void {
  const missed = expressionsOf(http).flatMap(([name, text]) =>
    text === undefined || evaluated.has(name) || (name === 'outputs' && isBody(http)) ? [] : [name],
  );
  if (missed.length === 0) return;
  log.add({ step: 'note', text: `Not evaluated, because no response calls for it: ${missed.join(', ')}` });
}

function printRecord(record: object, write: (line: string) => void): void {
  for (const [name, value] of Object.entries(record) as [string, unknown][]) {
    write(`${name.padEnd(10)} ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  }
}

/** @throws {AdminError} it is no outcome. */
function expectationOf(
  { expect, recording: file }: TryOptions,
  recording: Recording | undefined,
): Expectation | undefined {
  if (expect !== undefined) return readExpectation('--expect', expect);
  return recording?.expect === undefined
    ? undefined
    : readExpectation(`--recording: ${file ?? ''}: expect`, recording.expect);
}

function requireMatchingOptions({ send, recording, record, output, timeout, yes, expect }: TryOptions): void {
  if (send === true && recording !== undefined) {
    throw new AdminError('--recording: it takes the place of the provider; leave out --send');
  }
  const needy = Object.entries({ record, output, timeout, yes }).find(([, value]) => value !== undefined)?.[0];
  if (send !== true && needy !== undefined) throw new AdminError(`--${needy}: it needs --send`);
  if (send !== true && recording === undefined && expect !== undefined) {
    throw new AdminError('--expect: it needs --send or --recording');
  }
}

function requireValid(model: ResolvedModel, input: object): void {
  const violations = model.checkInputAll(input);
  if (violations.length > 0) throw new AdminError(violations.map(({ message }) => message).join('\n'));
}

function priceOf({ pricing }: ModelDefinition, input: Readonly<Record<string, unknown>>): string {
  const worst = quote(pricing, input);
  return `${formatUsd(worst.costMicroUsd)} USD at most (${describeQuote(pricing, worst)})`;
}

/** @throws {AdminError} there was no consent. */
async function requireConsent({ yes }: TryOptions, { baseUrl = '', secret }: Upstream, price: string): Promise<void> {
  const credential = secret === undefined ? 'no credential' : secretVariable(secret);
  const warning = `This sends a request to ${baseUrl} with ${credential}. It may cost money; the file sells it for ${price}.`;
  await requireAnswer(warning, 'Send it?', yes === true);
}

function presentEnding(ending: Ending, mask: CredentialMask): Readonly<Record<string, unknown>> {
  switch (ending.kind) {
    case 'done':
      return { ended: 'done', outputs: ending.files.map((file) => presentFile(file, mask)) };
    case 'rejected':
      return { ended: 'rejected', reason: ending.reason, ...(ending.note === undefined ? {} : { note: ending.note }) };
    case 'failed':
      return { ended: 'failed', reason: ending.reason };
    case 'unknown':
      return { ended: 'unknown', reason: ending.message };
    case 'stopped':
      return { ended: 'stopped', reason: ending.why };
  }
}

function presentFile(file: ProducedFile, mask: CredentialMask): object {
  if (file.from === 'url') return { url: mask.text(file.url) };
  return file.from === 'bytes' ? { bytes: file.bytes.length } : { file: 'the response' };
}

/** @throws {AdminError} something is wrong, so that scripts notice. */
function requireSuccess(log: RunLog, ending: Ending, isShownOnly: boolean): void {
  const problems = problemLines(log);
  if (problems.length > 0) throw new AdminError(printable(problems.join('\n')));
  if (ending.kind !== 'done' && !isShownOnly) throw new AdminError(`no outputs: the work ended as ${ending.kind}`);
}

/** @param ending undefined: the recording was over before the work. */
function unexpected({ text }: Expectation, log: RunLog, ending: Ending | undefined): AdminError {
  const reason = ending !== undefined && 'reason' in ending ? `:${ending.reason}` : '';
  const actual = ending === undefined ? 'the work did not end' : `the work ended as ${ending.kind}${reason}`;
  return new AdminError(printable([`expected ${text}: ${actual}`, ...problemLines(log)].join('\n')));
}

function problemLines({ problems }: RunLog): readonly string[] {
  return problems.map(({ member, problem }) => `${member === undefined ? '' : `${member}: `}${problem}`);
}
