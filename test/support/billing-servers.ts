/**
 * Upstreams that bill: each has an API and a price list of its own, draws at random what a piece of work consumes, and
 * keeps its own books in whole micros. Model files describe them to Darkroom; the books know nothing of those.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { createRandom } from '@darkroom/seeded-random/random';
import type { Random } from '@darkroom/seeded-random/random';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import { drawImage } from './test-provider/image.ts';

type Input = Readonly<Record<string, unknown>>;
type Answer = Readonly<Record<string, unknown>>;

/** A line of an upstream's books. */
export interface Bill {
  readonly upstream: string;
  /** The prompt, which is unique. */
  readonly prompt: string;
  /** What it bills; undefined: it does not say. */
  readonly billedMicroUsd: bigint | undefined;
  /** What the owner has to pay by the price in the model file, in the upstream's own arithmetic. */
  readonly priceMicroUsd: bigint;
}

/** What one piece of work comes to. */
interface Work extends Omit<Bill, 'upstream' | 'prompt'> {
  readonly isFailing?: boolean;
  /** How many images it makes. */
  readonly images: number;
  /** Merged into the answer with the outputs, or into the one that says that it failed. */
  readonly report: Answer;
}

/** An upstream: what its model file says, and what its work comes to. */
export interface Biller {
  readonly name: string;
  readonly pricing: ModelDefinition['pricing'];
  readonly upstream: Readonly<Record<string, unknown>>;
  readonly properties?: Readonly<Record<string, unknown>>;
  /** An input for one task, without the prompt. */
  draw(random: Random): Input;
  work(random: Random, input: Input): Work;
}

const min = (left: bigint, right: bigint): bigint => (left < right ? left : right);
const max = (left: bigint, right: bigint): bigint => (left > right ? left : right);

const JOBS = {
  submit: { path: "'/jobs'", body: '$input' },
  jobId: 'id',
  poll: { path: "'/jobs/' & $jobId", state: 'state' },
  outputs: 'images',
  reason: "'provider_error'",
};

const QUALITIES = ['low', 'high'] as const;
const SIZES = ['1K', '2K'] as const;
/** By quality and size: the micros that one image costs and is sold for. */
const LIST = {
  'low/1K': [2_000n, 5_000n],
  'low/2K': [4_000n, 9_000n],
  'high/1K': [30_000n, 40_000n],
  // Sold below cost.
  'high/2K': [60_000n, 55_500n],
} as const;
const listed = (index: 0 | 1) =>
  Object.fromEntries(Object.entries(LIST).map(([key, prices]) => [key, `0.${String(prices[index]).padStart(6, '0')}`]));

/** Reports the cost of each job, of failed ones too; now and then it reports nonsense. */
const REPORTING: Biller = {
  name: 'reporting',
  pricing: { unit: 'image', usd: '0.03' },
  upstream: { http: { ...JOBS, cost: 'billing.usd' } },
  draw: () => ({}),
  work(random) {
    const micros = BigInt(random.integer(0, 60_000));
    const usd = random.chance(0.5) ? Number(micros) / 1_000_000 : (Number(micros) / 1_000_000).toFixed(6);
    if (random.chance(0.1)) {
      return { isFailing: true, images: 0, billedMicroUsd: micros, priceMicroUsd: 0n, report: { billing: { usd } } };
    }
    const nonsense = random.chance(0.1) ? random.pick([-0.5, '1e9', 'free', { amount: 1 }]) : undefined;
    return {
      images: 1,
      billedMicroUsd: nonsense === undefined ? micros : undefined,
      priceMicroUsd: 30_000n,
      report: { billing: { usd: nonsense ?? usd } },
    };
  },
};

/** Answers at once, and reports credits in quarters; it bills 0.0125 for each. */
const CREDITS: Biller = {
  name: 'credits',
  pricing: {
    unit: 'credit',
    usd: '0.02',
    hold: { quantity: 10 },
    minimum: '0.01',
    rounding: { mode: 'up', step: '0.005' },
  },
  upstream: {
    http: { submit: JOBS.submit, outputs: 'images', usage: '{ "credits": used.credits }' },
    cost: { usage: { credits: '0.0125' } },
  },
  draw: () => ({}),
  work(random) {
    if (random.chance(0.1)) return { images: 1, billedMicroUsd: undefined, priceMicroUsd: 200_000n, report: {} };
    const quarters = BigInt(random.integer(0, 52));
    const steps = (max(quarters * 5_000n, 10_000n) + 4_999n) / 5_000n;
    return {
      images: 1,
      billedMicroUsd: quarters * 3_125n,
      priceMicroUsd: min(steps * 5_000n, 200_000n),
      report: { used: { credits: Number(quarters) / 4 } },
    };
  },
};

/** Reports tokens with a result of its own; it bills input and output apart, and is sold by their sum. */
const TOKENS: Biller = {
  name: 'tokens',
  pricing: { unit: 'token', usd: '0.0001', hold: { field: 'max_tokens', default: 1_000 }, unreported: 500 },
  properties: { max_tokens: { type: 'integer', minimum: 100, maximum: 2_000 } },
  upstream: {
    http: {
      ...JOBS,
      result: { path: "'/jobs/' & $jobId & '/result'" },
      usage: 'usage.{ "inputTokens": prompt, "outputTokens": completion }',
    },
    cost: { usage: { inputTokens: '0.000005', outputTokens: '0.00004' } },
  },
  draw: (random) => (random.chance(0.5) ? {} : { max_tokens: random.integer(100, 2_000) }),
  work(random, input) {
    const held = BigInt(Number(input['max_tokens'] ?? 1_000)) * 100n;
    if (random.chance(0.15)) {
      return { images: 1, billedMicroUsd: undefined, priceMicroUsd: min(50_000n, held), report: {} };
    }
    const [prompt, completion] = [random.integer(0, 50), random.integer(0, 1_500)];
    return {
      images: 1,
      billedMicroUsd: BigInt(prompt) * 5n + BigInt(completion) * 40n,
      priceMicroUsd: min(BigInt(prompt + completion) * 100n, held),
      report: { usage: { prompt, completion } },
    };
  },
};

/** Reports nothing, has a price list by quality and size, and sometimes makes fewer images than it was asked for. */
const LISTED: Biller = {
  name: 'listed',
  pricing: {
    unit: 'image',
    usd: listed(1)['low/1K'] ?? '0',
    by: { fields: ['quality', 'size'], default: ['low', '1K'], usd: listed(1) },
    count: { field: 'n', default: 1 },
  },
  properties: {
    quality: { type: 'string', enum: [...QUALITIES] },
    size: { type: 'string', enum: [...SIZES] },
    n: { type: 'integer', minimum: 1, maximum: 3 },
  },
  upstream: {
    http: JOBS,
    cost: {
      pricing: {
        unit: 'image',
        usd: listed(0)['low/1K'] ?? '0',
        by: { fields: ['quality', 'size'], default: ['low', '1K'], usd: listed(0) },
        count: { field: 'n', default: 1 },
      },
    },
  },
  draw: (random) => ({
    ...(random.chance(0.3) ? {} : { quality: random.pick(QUALITIES) }),
    ...(random.chance(0.3) ? {} : { size: random.pick(SIZES) }),
    ...(random.chance(0.3) ? {} : { n: random.integer(1, 3) }),
  }),
  work(random, input) {
    const quality = QUALITIES.find((each) => each === input['quality']) ?? 'low';
    const size = SIZES.find((each) => each === input['size']) ?? '1K';
    const [cost, price] = LIST[`${quality}/${size}`];
    const images = random.integer(1, Number(input['n'] ?? 1));
    return { images, billedMicroUsd: cost * BigInt(images), priceMicroUsd: price * BigInt(images), report: {} };
  },
};

/** Says nothing about money. */
const SILENT: Biller = {
  name: 'silent',
  pricing: { unit: 'task', usd: '0.02' },
  upstream: { http: JOBS },
  draw: () => ({}),
  work: () => ({ images: 1, billedMicroUsd: undefined, priceMicroUsd: 20_000n, report: {} }),
};

/** Bills what it has done of a job that is cancelled, more than the hold now and then. */
const CANCELLED: Biller = {
  name: 'cancelled',
  pricing: { unit: 'image', usd: '0.03' },
  upstream: { http: { ...JOBS, cancel: { path: "'/jobs/' & $jobId & '/cancel'", cost: 'billing.usd' } } },
  draw: () => ({}),
  work(random) {
    const micros = BigInt(random.integer(0, 40_000));
    return {
      images: 0,
      billedMicroUsd: micros,
      priceMicroUsd: min(micros, 30_000n),
      report: { billing: { usd: (Number(micros) / 1_000_000).toFixed(6) } },
    };
  },
};

export const BILLERS = [REPORTING, CREDITS, TOKENS, LISTED, SILENT, CANCELLED] as const;

/** The model file of an upstream: `test/<its name>`. */
export function modelOfBiller({ name, pricing, upstream, properties = {} }: Biller, baseUrl: string): object {
  return {
    name: `test/${name}`,
    modality: 'image',
    ownedBy: 'test',
    created: 0,
    description: `An upstream that bills: ${name}.`,
    routes: {
      default: { upstreams: [{ id: name, protocol: 'http', baseUrl, secret: 'test', model: name, ...upstream }] },
    },
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt'],
      properties: { prompt: { type: 'string', minLength: 1, maxLength: 100 }, ...properties },
    },
    pricing,
    typicalSeconds: 1,
    examples: [{ prompt: 'anything' }],
  };
}

export interface BillingServer {
  readonly url: string;
  readonly books: readonly Bill[];
  stop(): void;
}

/** Starts an upstream. A job is done at its second poll, except for those that are there to be cancelled. */
export async function startBillingServer(biller: Biller, seed: number): Promise<BillingServer> {
  const books: Bill[] = [];
  const jobs = new Map<string, { readonly prompt: string; readonly work: Work; polls: number }>();

  const doneWith = async (prompt: string, { images, report }: Work): Promise<Answer> => {
    const image = `data:image/png;base64,${(await drawImage(prompt)).toString('base64')}`;
    return { images: Array.from({ length: images }, () => image), ...report };
  };
  const submit = async (input: Input): Promise<Answer> => {
    const prompt = String(input['prompt']);
    // The order of arrival is not that of the seed, but the prompt is.
    const work = biller.work(createRandom(seed).fork(prompt), input);
    books.push({
      upstream: biller.name,
      prompt,
      billedMicroUsd: work.billedMicroUsd,
      priceMicroUsd: work.priceMicroUsd,
    });
    const id = `job-${jobs.size}`;
    jobs.set(id, { prompt, work, polls: 0 });
    return biller.name === 'credits' ? doneWith(prompt, work) : { id };
  };
  const answer = async (path: string, body: () => Promise<unknown>): Promise<Answer | undefined> => {
    const [, id = '', part] = /^\/jobs(?:\/([\w-]+)(?:\/(result|cancel))?)?$/.exec(path) ?? [];
    if (id === '') return submit((await body()) as Input);
    const job = jobs.get(id);
    if (job === undefined) return undefined;
    if (part === 'cancel') return job.work.report;
    if (part === 'result') return doneWith(job.prompt, job.work);
    job.polls += 1;
    if (job.polls < 2 || biller.name === 'cancelled') return { state: 'running' };
    if (job.work.isFailing === true) return { state: 'failed', ...job.work.report };
    return { state: 'done', ...(biller.name === 'tokens' ? {} : await doneWith(job.prompt, job.work)) };
  };
  const send = (response: ServerResponse, found: Answer | undefined): void => {
    response.statusCode = found === undefined ? 404 : 200;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(found ?? {}));
  };
  const server = createServer((request, response) => {
    answer(request.url ?? '', () => json(request)).then(
      (found) => send(response, found),
      () => response.destroy(),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    books,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
