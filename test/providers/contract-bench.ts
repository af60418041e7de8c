/**
 * The tools of the adapters' contract: one adapter, a test provider, and a watch over everything that is logged or
 * thrown.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { pino } from 'pino';
import type { Modality } from '../../src/catalogue/definition.ts';
import { newTaskId } from '../../src/domain/ids.ts';
import { ProviderRejection } from '../../src/providers/provider.ts';
import type {
  GenerationRequest,
  InputFile,
  JobState,
  ProducedFile,
  Provider,
  UpstreamBinding,
} from '../../src/providers/provider.ts';
import type { HttpProviderDeps } from '../../src/providers/upstream-calls.ts';
import { createSecretSource } from '../../src/upstreams/secrets.ts';
import type { LogLine, Protocol } from '../support/test-provider/log.ts';
import { drawImage } from '../support/test-provider/image.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { submitCall } from './submit-call.ts';

/** One adapter, or one of its interfaces, and its capabilities. */
export interface ContractSubject {
  /** The test provider's interface: the adapter's own protocol, unless the binding describes it. */
  readonly protocol: Protocol;
  readonly create: (deps: HttpProviderDeps) => Provider;
  /** Whether submitting returns the files, so that there is no job to poll. */
  readonly isSynchronous: boolean;
  /** The binding in addition to the address, the credential and the model. */
  readonly binding?: { readonly api?: string; readonly http?: unknown };
  /** Default: `image`. */
  readonly modality?: Modality;
  /** Whether a repeated submit joins or finds the first one. */
  readonly isRepeatable?: boolean;
  /** The input for a prompt; default: the prompt alone. */
  readonly inputOf?: (prompt: string) => Readonly<Record<string, unknown>>;
  /** The media of every input. */
  readonly media?: () => ReadonlyMap<string, InputFile>;
  /** The file that the provider makes for a prompt; default: its image. */
  readonly fileOf?: (prompt: string) => Buffer | Promise<Buffer>;
  /** Statuses that mean a rejection here, while for other adapters they leave the outcome unknown. */
  readonly rejectsWith?: readonly number[];
  /** Whether an upstream has only one model, whatever the binding's model name. */
  readonly ignoresModel?: boolean;
  /** Whether a finished job always names a file, whether it exists or not. */
  readonly alwaysNamesFile?: boolean;
}

/** What a test works with; the adapter's own tests use it too. */
export interface ContractBench {
  readonly provider: Provider;
  /** The same adapter, with a timeout of 1.5 s. */
  readonly impatient: Provider;
  request(prompt: string, upstream?: Partial<UpstreamBinding>): GenerationRequest;
  /** The log lines about one prompt. */
  linesOf(prompt: string): Promise<readonly LogLine[]>;
  /** Runs work that must fail, and returns the error, searched for what it must not contain. */
  caught(work: Promise<unknown>): Promise<unknown>;
  /** Waits until the provider has logged a line of this kind about a prompt. */
  waitForLogged(prompt: string, kind: LogLine['kind']): Promise<void>;
}

const KEY = 'key-that-must-stay-secret';
/** Part of every prompt. */
export const MARK = 'words of a private prompt';
const PROVIDER_TEXTS = ['no one may pass on', 'not to be passed on', 'CUDA out of memory'];
const POLL_MS = 5;

/** Enough to submit the work on a slow machine, and not long to wait for. */
const IMPATIENCE_MS = 1_500;

const call = submitCall();

/** A bench, and the resources that belong to it. */
export interface ContractRig {
  readonly bench: ContractBench;
  readonly inputOf: (prompt: string) => Readonly<Record<string, unknown>>;
  /** The file that the provider makes for a prompt. */
  readonly fileOf: (prompt: string) => Buffer | Promise<Buffer>;
  far(): TestProvider;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Fails if something was logged that must not be, and clears the log. */
  checkLog(): void;
  /** The number of error lines for the operator since then. */
  errorsLogged(): number;
  /** How many lines of this kind the provider has logged about a prompt. */
  countOf(prompt: string, kind: LogLine['kind']): Promise<number>;
  /** Submits and waits for the end, as the activities do. */
  generate(work: GenerationRequest): Promise<readonly ProducedFile[]>;
  /** Runs work that must be rejected. */
  rejectionOf(work: GenerationRequest): Promise<ProviderRejection>;
  /** The bytes of a file, fetched from wherever it is available. */
  bytesOf(work: GenerationRequest, file: ProducedFile | undefined): Promise<Buffer>;
}

/** Assembles it; the provider runs from `start` on. */
export function createContractRig(subject: ContractSubject): ContractRig {
  const inputOf = subject.inputOf ?? ((prompt: string) => ({ prompt }));
  let started: TestProvider | undefined;
  const far = (): TestProvider => started ?? assert.fail('the provider was not started');
  let logged: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  const secrets = createSecretSource({ MAIN: KEY, REVOKED: 'revoked-key' });
  const create = (more: Partial<HttpProviderDeps>): Provider => {
    const whole = subject.create({ secrets, logger, ...more });
    const binding = { protocol: whole.protocol, model: 'test/image', ...subject.binding };
    return whole.boundTo?.(binding, subject.modality ?? 'image') ?? whole;
  };
  const bench: ContractBench = {
    provider: create({}),
    impatient: create({ timeoutMs: IMPATIENCE_MS }),
    request: (prompt, upstream = {}) => ({
      taskId: newTaskId(),
      upstream: {
        protocol: bench.provider.protocol,
        baseUrl: `${far().url}/${subject.protocol}/v1`,
        secret: 'main',
        model: 'test/image',
        ...subject.binding,
        ...upstream,
      },
      input: inputOf(`${prompt}, ${MARK}`),
      ...(subject.media === undefined ? {} : { media: subject.media() }),
    }),
    async linesOf(prompt) {
      return (await far().readLog()).filter((line) => line.prompt?.startsWith(`${prompt}, `));
    },
    async caught(work) {
      const error = await work.then(
        () => assert.fail('it should have failed'),
        (reason: unknown) => reason,
      );
      const text = inspect(error, { depth: 10 });
      for (const secret of [KEY, MARK, ...PROVIDER_TEXTS, new URL(far().url).host]) {
        assert.ok(!text.includes(secret), `an error holds "${secret}": ${text}`);
      }
      return error;
    },
    async waitForLogged(prompt, kind) {
      const isLogged = async () => (await bench.linesOf(prompt)).some((line) => line.kind === kind);
      await waitFor(`the provider logs ${kind} of ${prompt}`, isLogged, POLL_MS);
    },
  };
  const { provider } = bench;

  const generate = async (work: GenerationRequest): Promise<readonly ProducedFile[]> => {
    const submission = await provider.submit(work, call);
    if (submission.kind === 'done') return submission.files;
    const { jobId } = submission;
    let state: JobState = { kind: 'running' };
    const isDone = async () => {
      state = await provider.poll(work, jobId, call);
      return state.kind === 'done';
    };
    await waitFor(`the job ${jobId} is done`, isDone, POLL_MS);
    return filesOf(state);
  };

  return {
    bench,
    inputOf,
    fileOf: subject.fileOf ?? drawImage,
    far,
    generate,
    async start() {
      started = await startTestProvider();
    },
    async stop() {
      await started?.stop();
    },
    checkLog() {
      for (const line of logged) {
        for (const secret of [KEY, MARK, ...PROVIDER_TEXTS]) assert.ok(!line.includes(secret), `logged: ${line}`);
      }
      logged = [];
    },
    errorsLogged: () => logged.filter((line) => (JSON.parse(line) as { level: number }).level >= 50).length,
    countOf: async (prompt, kind) => (await bench.linesOf(prompt)).filter((line) => line.kind === kind).length,
    async rejectionOf(work) {
      const error = await bench.caught(generate(work));
      assert.ok(error instanceof ProviderRejection, `not a rejection: ${inspect(error)}`);
      return error;
    },
    async bytesOf(work, file) {
      assert.ok(file !== undefined);
      if (file.from === 'file') return readFile(file.path);
      if (file.from === 'bytes') return Buffer.from(file.bytes);
      const found = await provider.download?.(work, file.url, { ...call, timeoutMs: 60_000, maxBytes: 1_000_000 });
      if (found?.from === 'upstream') return buffer(found.body);
      const response = await fetch(found?.url ?? file.url);
      assert.equal(response.status, 200);
      return Buffer.from(await response.arrayBuffer());
    },
  };
}

function filesOf(state: JobState): readonly ProducedFile[] {
  return state.kind === 'done' ? state.files : [];
}
