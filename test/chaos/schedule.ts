/**
 * The faults and their times: drawn from the seed alone, so that the same seed is the same campaign. Each kind comes
 * once before any comes twice, and cycles through its own targets in the same way.
 */
import { createRandom } from '@darkroom/testing/random';
import type { Random } from '@darkroom/testing/random';

export const PARTS = [
  'api-1',
  'api-2',
  'worker-1',
  'worker-2',
  'postgres',
  'temporal',
  's3',
  'provider',
  'receivers',
] as const;
export type PartName = (typeof PARTS)[number];

/** The connections that go through a proxy of ours. A link of `api` or `worker` is that of each process of the role. */
export const LINKS = [
  'api-postgres',
  'worker-postgres',
  'api-temporal',
  'worker-temporal',
  'api-s3',
  'worker-s3',
  'provider',
  'text',
  'receivers',
  'clients',
] as const;
export type LinkName = (typeof LINKS)[number];

export const LINK_FAULTS = ['latency', 'bandwidth', 'reset', 'half-open', 'refuse'] as const;
export type LinkFault = (typeof LINK_FAULTS)[number];

export const PROVIDER_MODES = ['errors', 'busy', 'hang', 'garbage'] as const;
export type ProviderMode = (typeof PROVIDER_MODES)[number];

export const RECEIVER_MODES = ['hang', 'drip', 'reset', 'errors', 'gone', 'redirect', 'huge'] as const;
export type ReceiverMode = (typeof RECEIVER_MODES)[number];

/** One fault, and how long it lasts. */
export type Fault = { readonly atMs: number; readonly forMs: number } & (
  | { readonly kind: 'kill' | 'pause' | 'restart'; readonly target: PartName }
  | { readonly kind: LinkFault; readonly target: LinkName }
  | { readonly kind: 'disk-full'; readonly target: 'postgres' | 's3' }
  | { readonly kind: 'lost-commits'; readonly target: 'postgres' }
  | { readonly kind: 'suspend'; readonly target: 'account' }
  /** Longer than a heartbeat timeout, under calls in the background that take longer still. */
  | { readonly kind: 'unheard'; readonly target: 'temporal' }
  | { readonly kind: 'freeze'; readonly target: 'accept' | 'settlement' }
  | { readonly kind: 'slow-archives'; readonly target: 'provider' }
  | { readonly kind: 'deploy'; readonly target: 'workers' }
  | { readonly kind: 'neighbour'; readonly target: 'namespace' }
  /** `byMs` is added to the clock of every process of the role. */
  | { readonly kind: 'clock-step' | 'clock-skew'; readonly target: 'api' | 'worker'; readonly byMs: number }
  | { readonly kind: 'provider-misbehaves'; readonly target: ProviderMode }
  | { readonly kind: 'receiver-misbehaves'; readonly target: ReceiverMode }
);
export type FaultKind = Fault['kind'];

/** The possible faults, and their targets. */
export const TARGETS: Readonly<Record<FaultKind, readonly string[]>> = {
  kill: PARTS,
  pause: PARTS,
  restart: PARTS,
  latency: LINKS,
  bandwidth: LINKS,
  reset: LINKS,
  'half-open': LINKS,
  refuse: LINKS,
  'disk-full': ['postgres', 's3'],
  'lost-commits': ['postgres'],
  suspend: ['account'],
  unheard: ['temporal'],
  freeze: ['accept', 'settlement'],
  'slow-archives': ['provider'],
  deploy: ['workers'],
  neighbour: ['namespace'],
  'clock-step': ['api', 'worker'],
  'clock-skew': ['api', 'worker'],
  'provider-misbehaves': PROVIDER_MODES,
  'receiver-misbehaves': RECEIVER_MODES,
};

/** Each of these is injected when all others are over and healed, and one after the other (trials/trial.ts). */
export const ALONE: readonly FaultKind[] = ['freeze', 'slow-archives', 'deploy', 'neighbour'];
/**
 * The share of a storm of all kinds that they get at its end, and the time that one of them takes in addition to its
 * own.
 */
const SHARE_ALONE = 2 / 5;
const ONE_ALONE_MS = 20_000;
/** Upstream calls of 30 s, for example, are for campaigns of ten minutes: of three minutes they would be half. */
const TRIALS_A_STORM = 18;

/** These occur twice in each round: they are the ones that lose data. */
const TWICE_A_ROUND: readonly FaultKind[] = ['kill', 'half-open'];

/** A pause (SIGSTOP) of 30 s; a storm shorter than this many of them has shorter ones. */
const PAUSE_MS = 30_000;
const PAUSES_A_STORM = 6;
/** Shorter than a long call takes (provider/text.ts), which has to be in progress all the time. */
export const UNHEARD_MS = 16_000;
const SHORTEST_MS = 2_000;
const LONGEST_MS = 15_000;
/** Faults per minute: they overlap, and the world has quiet moments between them. */
const FAULTS_A_MINUTE = 10.6;
/** Nothing happens at first, so that there is something to break, nor right before the end. */
const BEGIN_MS = 4_000;
/** Longer than everything may take to become quiet: a process that waits for its clock to catch up is detected. */
const SMALLEST_STEP_MS = 6 * 60_000;
const LARGEST_STEP_MS = 20 * 60_000;
/** Longer than outputs are retained, and than a month's storage is paid for (docs/decisions/0007). */
const SKEW_MS = 30 * 86_400_000;

/** @param only restricts the kinds, for a campaign with one target. */
export function planFaults(seed: number, stormMs: number, only?: readonly FaultKind[]): readonly Fault[] {
  const random = createRandom(seed, 'faults');
  const all = (Object.keys(TARGETS) as FaultKind[]).filter((kind) => only === undefined || only.includes(kind));
  const alone = all.filter((kind) => ALONE.includes(kind));
  const together = all.filter((kind) => !ALONE.includes(kind));
  const share = alone.length === 0 ? 0 : together.length === 0 ? 1 : SHARE_ALONE;
  const aloneMs = share * stormMs;
  return [
    ...planTogether(random, together, stormMs - aloneMs),
    ...planAlone(random, alone, stormMs - aloneMs, stormMs),
  ];
}

function planTogether(random: Random, kinds: readonly FaultKind[], stormMs: number): readonly Fault[] {
  const count = Math.max(kinds.length, Math.round((stormMs / 60_000) * FAULTS_A_MINUTE));
  const nextKind = deck(random, () => [...kinds, ...kinds.filter((kind) => TWICE_A_ROUND.includes(kind))]);
  const targets = new Map(kinds.map((kind) => [kind, deck(random, () => TARGETS[kind])]));
  const gapMs = (stormMs - BEGIN_MS) / count;
  return Array.from({ length: kinds.length === 0 ? 0 : count }, (_, index) => {
    const kind = nextKind();
    const target = targets.get(kind)?.() ?? '';
    const atMs = Math.round(BEGIN_MS + gapMs * (index + random.next() * 0.8));
    return { kind, target, atMs, ...extentOf(kind, stormMs, random) } as Fault;
  });
}

function planAlone(random: Random, kinds: readonly FaultKind[], fromMs: number, stormMs: number): readonly Fault[] {
  if (kinds.length === 0) return [];
  const count = Math.max(kinds.length, Math.round((stormMs - fromMs) / ONE_ALONE_MS));
  const nextKind = deck(random, () => kinds);
  const targets = new Map(kinds.map((kind) => [kind, deck(random, () => TARGETS[kind])]));
  const gapMs = (stormMs - fromMs) / count;
  const forMs = Math.round(Math.min(PAUSE_MS, stormMs / TRIALS_A_STORM));
  return Array.from({ length: count }, (_, index) => {
    const kind = nextKind();
    return { kind, target: targets.get(kind)?.() ?? '', atMs: Math.round(fromMs + gapMs * index), forMs } as Fault;
  });
}

function extentOf(kind: FaultKind, stormMs: number, random: Random): { forMs: number; byMs?: number } {
  const forMs = random.between(SHORTEST_MS, Math.min(LONGEST_MS, Math.max(SHORTEST_MS, stormMs / PAUSES_A_STORM)));
  if (kind === 'unheard') return { forMs: UNHEARD_MS };
  if (kind === 'pause') return { forMs: Math.round(Math.min(PAUSE_MS, stormMs / PAUSES_A_STORM)) };
  if (kind !== 'clock-step' && kind !== 'clock-skew') return { forMs };
  const size = kind === 'clock-skew' ? SKEW_MS : random.between(SMALLEST_STEP_MS, LARGEST_STEP_MS);
  return { forMs, byMs: random.isWithChance(0.5) ? size : -size };
}

/** Deals all of them in a random order before it starts over. */
function deck<T>(random: Random, cards: () => readonly T[]): () => T {
  let left: T[] = [];
  return () => {
    if (left.length === 0) left = [...random.shuffled(cards())];
    return left.shift() as T;
  };
}
