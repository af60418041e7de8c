/** What clients create: tasks of every kind, most of them harmless, and callbacks to receivers of every kind. */
import type { Random } from '@darkroom/testing/random';
import type { Wish } from '../records.ts';
import { TASK_MODELS, TEXT_MODEL } from '../world/models.ts';
import type { BackgroundWish } from './background.ts';
import type { BatchWish } from './batch.ts';

/** Words for the test provider (test/support/test-provider/behaviour.ts), by frequency. */
const BEHAVIOURS: readonly (readonly [weight: number, words: string])[] = [
  [40, ''],
  [15, '[slow 1500]'],
  [8, '[slow 6000]'],
  [4, '[delay-submit 1500]'],
  [4, '[drop]'],
  [3, '[500]'],
  [3, '[html]'],
  [4, '[reject-first 1] [retry-after 1]'],
  [3, '[content]'],
  [3, '[fail]'],
  [2, '[no output]'],
  [3, '[poll-fail 2]'],
  [2, '[404 file]'],
  [2, '[html file]'],
  [2, '[cut-file 40]'],
  [3, '[break-file 1]'],
  [1, '[odd types]'],
  [3, '[slow 3000] [hook-every 500]'],
  [3, '[slow 8000] [bills 0.004]'],
  [1, '[file-redirect FORBIDDEN]'],
];

const CALLBACKS: readonly (readonly [weight: number, path: string | undefined])[] = [
  [30, undefined],
  [40, '/ok'],
  [8, '/fail/1'],
  [4, '/fail/3'],
  [3, '/fail/99'],
  [3, '/gone'],
  [1, '/hang'],
  [1, '/drip'],
  [2, '/huge'],
  [3, '/reset'],
  [2, '/redirect'],
  [3, '/retry-after'],
];

/** Words for the text upstream (provider/text.ts), by frequency. */
const TEXT_WORDS: readonly (readonly [weight: number, words: string])[] = [
  [5, ''],
  [6, '[slow]'],
  [1, '[reject]'],
  [1, '[break]'],
  [2, '[long]'],
];

/** Lines of a batch: few, so that many batches begin and end in a storm. */
const LEAST_LINES = 3;
const MOST_LINES = 7;
/** Of a batch that is cancelled, and of a response. */
const CANCELLED_WITHIN_MS = 8_000;

function weighted<T>(random: Random, choices: readonly (readonly [number, T])[]): T {
  const total = choices.reduce((sum, [weight]) => sum + weight, 0);
  let left = random.next() * total;
  const chosen = choices.find(([weight]) => (left -= weight) < 0) ?? choices[0];
  if (chosen === undefined) throw new Error('there is nothing to choose from');
  return chosen[1];
}

export interface WishOptions {
  readonly account: string;
  /** Unlike any other of the account. */
  readonly number: number;
  readonly forbiddenUrl: string;
  /** Words of every prompt, for a campaign with one target. */
  readonly words?: string | undefined;
  readonly model?: string | undefined;
}

export function drawWish(random: Random, options: WishOptions): Wish {
  const { account, number, forbiddenUrl } = options;
  const marker = `marker-${account}-${number}-`;
  const drawn = weighted(random, BEHAVIOURS);
  const callback = weighted(random, CALLBACKS);
  const model = random.pick(TASK_MODELS);
  return {
    account,
    key: `${account}-${number}`,
    marker,
    model: options.model ?? model,
    prompt: `${marker} a lake ${(options.words ?? drawn).replace('FORBIDDEN', `${forbiddenUrl}/file.png`)}`,
    callbackPath: callback === undefined ? undefined : `${callback}/${marker}`,
  };
}

export function drawBackground(random: Random, { account, number }: WishOptions): BackgroundWish {
  const marker = `marker-${account}-${number}-`;
  const words = weighted(random, TEXT_WORDS);
  return {
    key: `${account}-${number}`,
    marker,
    prompt: `${marker} say something ${words}`,
    cancelAfterMs: drawCancel(random),
  };
}

export function drawBatch(random: Random, { number, forbiddenUrl }: WishOptions): BatchWish {
  const isText = random.isWithChance(0.6);
  const model = random.pick(TASK_MODELS);
  const words = (): string =>
    isText
      ? weighted(random, TEXT_WORDS)
      : weighted(random, BEHAVIOURS).replace('FORBIDDEN', `${forbiddenUrl}/file.png`);
  const lines = Array.from({ length: random.between(LEAST_LINES, MOST_LINES) }, () =>
    random.isWithChance(0.1) ? undefined : words(),
  );
  return {
    name: String(number),
    endpoint: isText ? '/v1/chat/completions' : '/v1/tasks',
    model: isText ? TEXT_MODEL : model,
    lines,
    cancelAfterMs: drawCancel(random),
  };
}

function drawCancel(random: Random): number | undefined {
  return random.isWithChance(0.1) ? random.between(0, CANCELLED_WITHIN_MS) : undefined;
}
