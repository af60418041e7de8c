/** The policy of the guarded ways out as the configuration describes it. */
import { ConfigurationError } from '../config/environment.ts';
import { parseAllowList } from './operator-lists.ts';
import { parseDenyList } from './deny-list.ts';
import type { EgressPolicy } from './policy.ts';

/** @throws {ConfigurationError} an entry of `EGRESS_ALLOW` or `EGRESS_DENY` is malformed. */
export function readEgressPolicy(lists: {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly ports: readonly number[];
}): EgressPolicy {
  try {
    return { allow: parseAllowList(lists.allow), deny: parseDenyList(lists.deny), ports: lists.ports };
  } catch (error) {
    throw new ConfigurationError([error instanceof Error ? error.message : String(error)]);
  }
}
