/** What operators do to an upstream: let no new work go there while its jobs continue, and let it again. */
import type { Queryable, Statement } from '../database/database.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { EMBEDDED_PROTOCOL } from '../domain/embedded-protocol.ts';
import { upstreamName } from './upstream-caps.ts';
import { drainUpstream, resumeUpstream } from './states.ts';

/** No model has ever named such an upstream. */
export class UpstreamNotFoundError extends DarkroomError {
  override readonly name = 'UpstreamNotFoundError';
  override readonly kind = 'not_found';

  constructor(upstream: string) {
    super(`no model names an upstream ${JSON.stringify(upstream)}`);
  }
}

const selectStored: Statement = {
  name: 'select_stored_upstream',
  text: 'SELECT 1 FROM upstream_states WHERE upstream = $1',
};
const selectNamed: Statement = {
  name: 'select_named_upstreams',
  text: `SELECT DISTINCT u->>'id' AS id, u->>'protocol' AS protocol, u->>'baseUrl' AS "baseUrl"
           FROM model_definitions, jsonb_path_query(definition, '$.routes.*.upstreams[*]') u
          WHERE u->>'protocol' <> '${EMBEDDED_PROTOCOL}'`,
};

interface NamedUpstream {
  readonly id: string | null;
  readonly protocol: string;
  readonly baseUrl: string | null;
}

/**
 * Drains an upstream, or ends that together with its pause. What processes know of it is at most two seconds old.
 *
 * @param isNamed whether the models of this process name it. @throws {UpstreamNotFoundError}
 */
export async function setDrained(
  database: Queryable,
  upstream: string,
  isDrained: boolean,
  isNamed = false,
): Promise<void> {
  if (!isNamed && !(await isKnown(database, upstream))) throw new UpstreamNotFoundError(upstream);
  if (isDrained) await drainUpstream(database, upstream);
  else await resumeUpstream(database, upstream);
}

/** An upstream about which nothing was recorded yet is known by the models that name it. */
async function isKnown(database: Queryable, upstream: string): Promise<boolean> {
  if ((await database.query(selectStored, [upstream])).length > 0) return true;
  const named = await database.query<NamedUpstream>(selectNamed);
  return named.some(
    ({ id, protocol, baseUrl }) =>
      upstreamName({
        protocol,
        ...(id === null ? {} : { id }),
        ...(baseUrl === null ? {} : { baseUrl }),
      }) === upstream,
  );
}
