/** Webhooks of providers, by the names of upstreams. */
import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { childrenOf } from './metrics-children.ts';

/** `rejected`: the provider's signature is missing or wrong. */
export type HookOutcome = 'hint' | 'challenge' | 'rejected';

export interface HookMetrics {
  /** @param upstream its name, as our own token proves. */
  called(upstream: string, outcome: HookOutcome): void;
}

export function createHookMetrics(registry: Registry): HookMetrics {
  const calls = new Counter({
    name: 'darkroom_provider_hooks_total',
    help: 'Webhooks of providers by outcome: hint, challenge, rejected (the signature of the provider is missing or wrong)',
    labelNames: ['upstream', 'outcome'],
    registers: [registry],
  });
  const upstreams = childrenOf((upstream: string) => ({
    hint: calls.labels({ upstream, outcome: 'hint' }),
    challenge: calls.labels({ upstream, outcome: 'challenge' }),
    rejected: calls.labels({ upstream, outcome: 'rejected' }),
  }));
  return { called: (upstream, outcome) => upstreams(upstream)[outcome].inc() };
}
