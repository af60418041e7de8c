/**
 * Which models have been run against the real services of their providers (`admin models verify`), and how that ended.
 * A result counts for the definition that was run: once a model file or the file of its provider has changed, its
 * models have not been run.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { definitionHash } from './definition.ts';
import type { Upstream } from './definition.ts';
import { isTextModel } from './text-definition.ts';
import type { CatalogueModel } from './text-definition.ts';

export type LiveOutcome = 'success' | 'fail';

/** An upstream of a model that is run on its own. */
export interface LiveTarget {
  readonly route: string;
  /** Its index in the route. */
  readonly index: number;
  readonly upstream: Upstream;
}

interface Position {
  readonly provider: string;
  readonly model: string;
  readonly route: string;
  readonly upstream: number;
}

/** The last run of an upstream. */
export interface LiveVerification extends Position {
  readonly definitionHash: string;
  readonly at: Date;
  readonly outcome: LiveOutcome;
  /** Of the provider's last answer in the last successful run; null: there was none. */
  readonly members: readonly string[] | null;
}

/** The state of a model of a provider. */
export interface ModelVerification {
  readonly at: Date;
  readonly outcome: LiveOutcome;
}

const selectAll: Statement = {
  name: 'select_live_verifications',
  text: `SELECT provider, model, route, upstream, definition_hash AS "definitionHash", at, outcome, members
           FROM live_verifications`,
};
const upsert: Statement = {
  name: 'record_live_verification',
  text: `INSERT INTO live_verifications
           (provider, model, route, upstream, definition_hash, at, outcome, detail, members, cost_micro_usd)
         VALUES ($1, $2, $3, $4, $5, now(), $6, $7, $8, $9)
         ON CONFLICT (provider, model, route, upstream) DO UPDATE SET
           definition_hash = EXCLUDED.definition_hash, at = EXCLUDED.at, outcome = EXCLUDED.outcome,
           detail = EXCLUDED.detail, members = COALESCE(EXCLUDED.members, live_verifications.members),
           cost_micro_usd = EXCLUDED.cost_micro_usd`,
};

/** All of them: at most one for each upstream of a provider. */
export async function readVerifications(database: Queryable): Promise<readonly LiveVerification[]> {
  return database.query<LiveVerification>(selectAll);
}

/** Replaces what is known of an upstream. @param result `members` undefined: those of earlier runs stay. */
export async function recordVerification(
  database: Queryable,
  { provider, model, route, upstream }: Position,
  result: {
    readonly definitionHash: string;
    readonly outcome: LiveOutcome;
    readonly detail: string;
    readonly members: readonly string[] | undefined;
    readonly costMicroUsd: bigint;
  },
): Promise<void> {
  const { definitionHash: hash, outcome, detail, members = null, costMicroUsd } = result;
  await database.query(upsert, [provider, model, route, upstream, hash, outcome, detail, members, costMicroUsd]);
}

/** What is run of a model: each upstream of the provider, and of a pool, whose members are alike, the first. */
export function liveTargetsOf(definition: CatalogueModel, provider: string): readonly LiveTarget[] {
  if (isTextModel(definition)) return [];
  return Object.entries(definition.routes).flatMap(([route, { upstreams }]) => {
    const pools = new Set<string>();
    return upstreams.flatMap((upstream, index) => {
      const { pool } = upstream;
      if (upstream.provider !== provider || (pool !== undefined && pools.has(pool))) return [];
      if (pool !== undefined) pools.add(pool);
      return [{ route, index, upstream }];
    });
  });
}

/**
 * @param definition as its files have it, whatever is configured. @param known all that was recorded.
 * @returns undefined: no upstream has failed, and not all have been run under this definition.
 */
export function verificationOf(
  definition: CatalogueModel,
  provider: string,
  known: readonly LiveVerification[],
): ModelVerification | undefined {
  const ofModel = known.filter((each) => each.provider === provider && each.model === definition.name);
  if (ofModel.length === 0) return undefined;
  const hash = definitionHash(definition);
  const targets = liveTargetsOf(definition, provider);
  const found = targets.flatMap(
    ({ route, index }) =>
      ofModel.find((each) => each.route === route && each.upstream === index && each.definitionHash === hash) ?? [],
  );
  const failed = found.find(({ outcome }) => outcome === 'fail');
  if (failed !== undefined) return failed;
  return found.length < targets.length ? undefined : found.toSorted((a, b) => a.at.getTime() - b.at.getTime())[0];
}
