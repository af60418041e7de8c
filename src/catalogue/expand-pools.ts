/**
 * Pools of model files: an entry with several `servers` or `credentials` becomes one upstream for each of their
 * combinations, with an id of its own. Breaker, pause, slots, queue, records and metrics then are those of one member,
 * and a job is polled where it was submitted.
 */
import { createHash } from 'node:crypto';
import { EMBEDDED_PROTOCOL } from '../domain/upstream-names.ts';
import { MAX_MEMBERS } from './definition.ts';
import type { ModelDefinition, Upstream, UpstreamEntry } from './definition.ts';

/** @returns the first problem with its position, or the definition in which every entry is one upstream. */
export function expandPools(definition: ModelDefinition): ModelDefinition | string {
  const routes: ModelDefinition['routes'] = {};
  for (const [name, route] of Object.entries(definition.routes)) {
    const upstreams: Upstream[] = [];
    for (const [index, entry] of route.upstreams.entries()) {
      const problem = findProblem(entry, route.balance !== undefined && route.balance !== 'ordered');
      if (problem !== undefined) return `routes.${name}.upstreams.${index}.${problem}`;
      const members = membersOf(entry);
      const [first] = members;
      if (first?.pool !== undefined && upstreams.some(({ pool }) => pool === first.pool)) {
        return `routes.${name}.upstreams.${index}.id: another pool of the route is called ${first.pool}`;
      }
      upstreams.push(...members);
    }
    const problem = findRouteProblem(upstreams);
    if (problem !== undefined) return `routes.${name}.${problem}`;
    routes[name] = { ...route, upstreams };
  }
  return { ...definition, routes };
}

function findProblem(entry: UpstreamEntry, isBalanced: boolean): string | undefined {
  const { servers, credentials, protocol } = entry;
  const isPool = servers !== undefined || credentials !== undefined;
  if (protocol === EMBEDDED_PROTOCOL && (isPool || isBalanced)) {
    return 'protocol: an embedded engine has no servers and no credentials, and its route no balance';
  }
  // Those of a provider are replaced.
  const isOwn = entry.provider === undefined;
  if (isOwn && servers !== undefined && entry.baseUrl !== undefined) return 'baseUrl: servers replaces it';
  if (isOwn && credentials !== undefined && entry.secret !== undefined) return 'secret: credentials replaces it';
  if ((servers?.length ?? 1) === 1 || (credentials?.length ?? 1) === 1) return undefined;
  const counted = (members: UpstreamEntry['servers'] | UpstreamEntry['credentials']): number =>
    (members ?? []).findIndex(({ concurrency }) => concurrency !== undefined);
  const why = 'concurrency: with several servers and several credentials, only the entry has it, for each combination';
  if (counted(servers) !== -1) return `servers.${counted(servers)}.${why}`;
  return counted(credentials) === -1 ? undefined : `credentials.${counted(credentials)}.${why}`;
}

/** Entries without pools may share an id, as before. */
function findRouteProblem(upstreams: readonly Upstream[]): string | undefined {
  if (upstreams.length > MAX_MEMBERS) return `upstreams: ${upstreams.length} with all members, at most ${MAX_MEMBERS}`;
  const seen = new Set<string>();
  for (const { id, pool } of upstreams) {
    if (pool === undefined || id === undefined) continue;
    if (id.length > 64) return `upstreams: the id ${id} of a member is longer than 64 characters: give shorter ids`;
    if (seen.has(id)) return `upstreams: two members have the id ${id}: give each an id of its own`;
    seen.add(id);
  }
  return undefined;
}

function membersOf({ servers, credentials, ...entry }: UpstreamEntry): readonly Upstream[] {
  if (servers === undefined && credentials === undefined) return [entry];
  const pool =
    entry.id ?? (entry.baseUrl === undefined ? entry.protocol : `${entry.protocol}-${digestOf(entry.baseUrl)}`);
  return (servers ?? [undefined]).flatMap((server) =>
    (credentials ?? [undefined]).map((credential): Upstream => {
      const concurrency = server?.concurrency ?? credential?.concurrency ?? entry.concurrency;
      const serverId = server && (server.id ?? digestOf(server.baseUrl));
      const ids = [
        pool,
        ...(serverId === undefined ? [] : [serverId]),
        ...(credential === undefined ? [] : [credential.id ?? credential.secret]),
      ];
      return {
        ...entry,
        ...(server === undefined ? {} : { baseUrl: server.baseUrl }),
        ...(credential === undefined ? {} : { secret: credential.secret }),
        ...(concurrency === undefined ? {} : { concurrency }),
        weight: (entry.weight ?? 1) * (server?.weight ?? 1) * (credential?.weight ?? 1),
        id: ids.join('-'),
        pool,
        ...(serverId === undefined ? {} : { server: serverId }),
      };
    }),
  );
}

/** Stays the same when servers are added and removed, and shows no host: callers read ids in timelines. */
function digestOf(baseUrl: string): string {
  return createHash('sha256').update(baseUrl).digest('hex').slice(0, 8);
}
