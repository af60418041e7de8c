/** What a worker knows of upstreams in addition to their protocols: created once for a process (src/context.ts). */
import type { Database } from '../database/database.ts';
import type { UpstreamDatabase } from '../limits/row-databases.ts';
import type { Logger } from '../telemetry/log.ts';
import { createUpstreamGate } from './gate.ts';
import type { UpstreamGate, Wake } from './gate.ts';
import { createHookFeed, createHookUrls } from './provider-hooks.ts';
import type { HookFeed, HookUrls } from './provider-hooks.ts';

export interface Upstreams {
  readonly gate: UpstreamGate;
  readonly hookFeed: HookFeed;
  readonly hookUrls: HookUrls;
}

export function createUpstreams(dependencies: {
  readonly database: Database;
  readonly upstreamDatabase?: UpstreamDatabase;
  readonly logger: Logger;
  readonly wake?: Wake;
  readonly publicUrl: string;
  readonly signingKey: string;
  readonly signingKeyFallbacks?: readonly string[];
}): Upstreams {
  return {
    gate: createUpstreamGate(dependencies),
    hookFeed: createHookFeed(dependencies),
    hookUrls: createHookUrls(dependencies),
  };
}
