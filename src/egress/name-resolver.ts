/**
 * Resolves names that clients and providers chose. `dns.lookup` would do it on two threads of the process, which the
 * database, the store and the upstreams need as well: a few names whose server never answers would occupy both for
 * ten seconds each. This queries the system's name servers through c-ares, on the event loop, with a time limit and a
 * share per account. docs/decisions/0018.
 *
 * Such names are absolute: no search domain is appended. Nothing is cached between two lookups, so that the egress
 * policy classifies what a name resolves to at each connection.
 */
import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { errorCodeOf } from '../domain/darkroom-error.ts';
import { createTenantShares } from '../limits/tenant-shares.ts';
import type { ShareMetrics } from '../telemetry/metrics.ts';
import { EgressError } from './egress-error.ts';

/** For whom and for how long a name is resolved. */
export interface ResolveOptions {
  readonly accountId: string;
  /** Ends the lookup with its reason. */
  readonly signal: AbortSignal;
  /** Whether an entry of `EGRESS_ALLOW` may grant the name: only then its entry in the hosts file counts. */
  readonly mayBeGranted: boolean;
}

/**
 * Resolves a name to all its addresses, in the order in which to try them.
 *
 * @throws {EgressError} `timeout`: no answer in time.
 * @throws {ShareExhaustedError} too many lookups of the account, or of all accounts, and none was free within 4 s.
 */
export type ResolveName = (name: string, options: ResolveOptions) => Promise<readonly string[]>;

/** `servers` (as `dns.setServers` takes them) and `hostsFile` are for tests; default: those of the system. */
export interface NameResolverOptions {
  readonly metrics?: ShareMetrics | undefined;
  readonly servers?: readonly string[] | undefined;
  readonly hostsFile?: string | undefined;
}

/** Each has two queries in progress on sockets of its own: 64 stay far below the 1,024 files of a default `ulimit`. */
export const LOOKUPS_AT_ONCE = 64;

/**
 * The maximum number of concurrent lookups of one account. With `MAX_LOOKUP_MS`, an account whose lookups all time out
 * still starts two a second.
 */
export const LOOKUPS_PER_ACCOUNT = 8;

/** Queued behind those: a burst of callbacks of one account, and of a few accounts together. */
export const WAITING_LOOKUPS = { perTenant: 64, perProcess: 512 } as const;

/**
 * Longer than a lookup takes, so that one ends in the meantime; with `MAX_LOOKUP_MS` it leaves a callback 2.5 s of
 * its 10 (spec §6.2).
 */
const MAX_WAIT_MS = 4_000;

/**
 * The time limit of a lookup over all servers and retries, in milliseconds. A public name takes some 100 ms if nothing
 * is cached.
 */
const MAX_LOOKUP_MS = 3_500;

/** The time limit of the first query to a server, in milliseconds; c-ares doubles it at each retry. */
const QUERY_TIMEOUT_MS = 1_000;
const TRIES = 2;

/**
 * How long to wait for IPv6 addresses once the IPv4 ones are there: some name servers never answer queries for AAAA.
 */
const IPV6_GRACE_MS = 500;

/** A DNS message has room for some 4,000; no honest name has as many as this. */
export const MAX_ADDRESSES = 128;

/** Creates a resolver with bounds of its own. */
export function createNameResolver({ metrics, servers, hostsFile }: NameResolverOptions = {}): ResolveName {
  const hosts = createHostsFile(hostsFile);
  const shares = createTenantShares({
    resource: 'resolver',
    capacity: LOOKUPS_AT_ONCE,
    perTenant: LOOKUPS_PER_ACCOUNT,
    leavesFree: true,
    waiting: WAITING_LOOKUPS,
    metrics,
  });
  return async (name, { accountId, signal, mayBeGranted }) => {
    const listed = mayBeGranted ? hosts.find(name) : [];
    if (listed.length > 0) return listed;
    return shares.run(accountId, () => lookUp(name, servers, signal), { signal, waitMs: MAX_WAIT_MS });
  };
}

async function lookUp(
  name: string,
  servers: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<readonly string[]> {
  // One for each lookup: cancelling a resolver ends all its queries, and c-ares caches answers in it.
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const cancel = (): void => resolver.cancel();
  let grace: NodeJS.Timeout | undefined;
  const timer = setTimeout(cancel, MAX_LOOKUP_MS);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const ipv4 = resolver.resolve4(name).then((found) => {
      grace = setTimeout(cancel, IPV6_GRACE_MS);
      return found;
    });
    const answers = await Promise.allSettled([ipv4, resolver.resolve6(name)]);
    signal.throwIfAborted();
    return addressesOf(answers);
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    signal.removeEventListener('abort', cancel);
  }
}

/** IPv4 first: hosts without an IPv6 route are common. */
function addressesOf(answers: readonly PromiseSettledResult<readonly string[]>[]): readonly string[] {
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > MAX_ADDRESSES) throw new Error(`the name has more than ${MAX_ADDRESSES} addresses`);
  if (addresses.length > 0) return addresses;
  const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as Error] : []));
  const isLate = failures.some((failure) => LATE_CODES.has(errorCodeOf(failure) ?? ''));
  if (isLate) throw new EgressError('timeout', 'no name server answered in time', { cause: failures[0] });
  throw failures[0] ?? new Error('the name has no address');
}

/** What c-ares reports when its own timeout elapses, and when ours does. */
const LATE_CODES = new Set(['ETIMEOUT', 'ECANCELLED']);

const SYSTEM_FILE = process.platform === 'win32' ? String.raw`C:\Windows\System32\drivers\etc\hosts` : '/etc/hosts';

/** The interval at which the file is read again, in milliseconds. */
const REREAD_MS = 5_000;

/** The addresses of `localhost`, whatever the file contains (RFC 6761 §6.3). */
const LOOPBACK = ['127.0.0.1', '::1'];

/**
 * The system's hosts file, which c-ares does not read. Operators use it together with `EGRESS_ALLOW`, on networks
 * without a name server of their own. Read on the main thread because it is small and the operator's own: reading it
 * elsewhere would need one of the threads that names from clients must not use.
 */
interface HostsFile {
  /** All addresses of a name, IPv4 first; none if the file does not list it. @param name in lower case. */
  find(name: string): readonly string[];
}

function createHostsFile(file: string = SYSTEM_FILE): HostsFile {
  let names: ReadonlyMap<string, readonly string[]> = new Map();
  let readAt: number | undefined;
  return {
    find(name) {
      if (readAt === undefined || Date.now() - readAt >= REREAD_MS) {
        names = parseHosts(readIfThere(file));
        readAt = Date.now();
      }
      return names.get(name) ?? (name === 'localhost' ? LOOPBACK : []);
    },
  };
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...listed] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of listed.map((each) => each.toLowerCase())) {
      const addresses = names.get(name) ?? [];
      addresses.push(address);
      names.set(
        name,
        addresses.toSorted((one, other) => isIP(one) - isIP(other)),
      );
    }
  }
  return names;
}
