/**
 * Whether anything open may still need a signing key that was replaced: the providers of tasks that were begun with
 * it fetch inputs and call back at URLs that it signed, and a submit that is repeated has to be the same. All of that
 * is over when the task's generation is, or its deadline has passed (src/generation/stage-inputs.ts).
 */
import type { Queryable, Statement } from '../../database/database.ts';

export interface UrlKeyUse {
  /** How many there are. */
  readonly tasks: number;
  /** The last of their deadlines; null: there are none. */
  readonly until: Date | null;
  /** The time until then, by the database's clock; 0 where there are none. */
  readonly secondsLeft: number;
}

// A task whose key is unknown may have been begun with any.
const selectUse: Statement = {
  name: 'select_url_key_use',
  text: `SELECT count(*)::integer AS tasks, max(deadline_at) AS until,
                coalesce(extract(epoch FROM max(deadline_at) - now()), 0)::float8 AS "secondsLeft"
           FROM tasks
          WHERE completed_at IS NULL AND status = 'handling' AND deadline_at > now()
            AND (url_key_id IS NULL OR url_key_id = ANY ($1))`,
};

/** @param keyIds the names of the keys (src/objects/urls/url-keys.ts). */
export async function readUrlKeyUse(database: Queryable, keyIds: readonly string[]): Promise<UrlKeyUse> {
  const [use] = await database.query<UrlKeyUse>(selectUse, [keyIds]);
  return use ?? { tasks: 0, until: null, secondsLeft: 0 };
}
