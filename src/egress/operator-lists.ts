/**
 * The operator's exceptions to the rule that outgoing requests reach public addresses, and only these: `EGRESS_ALLOW`
 * and `EGRESS_DENY`, which wins. Both are empty by default.
 */
import ipaddr from 'ipaddr.js';
import { parseAddress, readHost } from './address.ts';
import type { Host, IpAddress } from './address.ts';

/** One entry that the operator allows. A name is allowed wherever it resolves to. */
export interface AllowEntry {
  /** As configured, for the log. */
  readonly text: string;
  readonly port: number;
  readonly allowsHttp: boolean;
  readonly host:
    | { readonly kind: 'name'; readonly name: string }
    | { readonly kind: 'range'; readonly network: IpAddress; readonly prefixLength: number };
}

/**
 * `EGRESS_ALLOW`: the addresses that are reached although they are not public, for tests and private networks. Each
 * entry is `host-or-CIDR:port`, with `http://` in front if plain HTTP is allowed too. There is no wildcard and no off
 * switch; if empty, only public addresses are reached.
 */
export interface AllowList {
  readonly entries: readonly AllowEntry[];
}

/** Wide enough for 10.0.0.0/8 and fc00::/7, too narrow for a few entries to switch the guard off. */
const SHORTEST_PREFIX = { ipv4: 8, ipv6: 7 } as const;

const ALLOW_ENTRY = /^(?<scheme>http:\/\/)?(?:\[(?<bracketed>[^\]]+)\]|(?<plain>[^:[\]]+)):(?<port>\d{1,5})$/;

/**
 * Reads the entries of `EGRESS_ALLOW`.
 *
 * @param entries e.g. `receiver.internal:8443`, `http://10.0.0.0/8:8080`, `[fd00::/8]:443`; blank ones are skipped.
 * @throws {Error} an entry is not of that form; the message names it and the problem.
 */
export function parseAllowList(entries: readonly string[]): AllowList {
  return { entries: entries.filter((entry) => entry.trim() !== '').map((entry) => parseAllowEntry(entry.trim())) };
}

/**
 * Whether an entry allows an address under the name by which it was found.
 *
 * @param name undefined if the URL has a literal address.
 */
export function isGranted(
  list: AllowList,
  target: { readonly name: string | undefined; readonly port: number; readonly isPlainHttp: boolean },
  address: string,
): boolean {
  return list.entries.some((entry) => {
    if (entry.port !== target.port || (target.isPlainHttp && !entry.allowsHttp)) return false;
    return entry.host.kind === 'name' ? entry.host.name === target.name : containsAddress(entry.host, address);
  });
}

/**
 * Whether an entry could allow a name before it is resolved: one that names it, or any range on that port. The
 * addresses are checked when connecting.
 */
export function mayBeGranted(
  list: AllowList,
  target: { readonly name: string; readonly port: number; readonly isPlainHttp: boolean },
): boolean {
  return list.entries.some((entry) => {
    if (entry.port !== target.port || (target.isPlainHttp && !entry.allowsHttp)) return false;
    return entry.host.kind === 'range' || entry.host.name === target.name;
  });
}

/** Whether an entry allows a host by its name, wherever that resolves to. */
export function isNameGranted(
  list: AllowList,
  { host, port, isPlainHttp }: { readonly host: Host; readonly port: number; readonly isPlainHttp: boolean },
): boolean {
  if (host.kind !== 'name') return false;
  return list.entries.some(
    (entry) =>
      entry.host.kind === 'name' &&
      entry.host.name === host.name &&
      entry.port === port &&
      (!isPlainHttp || entry.allowsHttp),
  );
}

function containsAddress(range: { network: IpAddress; prefixLength: number }, address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === undefined || parsed.kind() !== range.network.kind()) return false;
  return parsed.match(range.network, range.prefixLength);
}

function parseAllowEntry(text: string): AllowEntry {
  const groups = ALLOW_ENTRY.exec(text)?.groups;
  if (groups === undefined) {
    throw invalidAllow(text, 'want host:port, CIDR:port or [IPv6 or CIDR]:port, with http:// in front for plain HTTP');
  }
  const port = Number(groups['port']);
  if (port < 1 || port > 65_535) throw invalidAllow(text, `${port} is no port`);
  const host = groups['bracketed'] ?? groups['plain'] ?? '';
  return { text, port, allowsHttp: groups['scheme'] !== undefined, host: parseHost(text, host) };
}

function parseHost(text: string, host: string): AllowEntry['host'] {
  if (host.includes('*')) throw invalidAllow(text, 'there is no wildcard; list names or a CIDR');
  const [address = '', length, ...rest] = host.split('/');
  if (rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length)))
    throw invalidAllow(text, 'the CIDR is malformed');

  const network = parseAddress(address);
  if (network === undefined) {
    const read = readHost(host);
    if (read.kind === 'name') return read;
    throw invalidAllow(text, 'the host is neither a name nor an address in its usual spelling');
  }
  return parseRange(text, network, length === undefined ? undefined : Number(length));
}

function parseRange(text: string, network: IpAddress, length: number | undefined): AllowEntry['host'] {
  const kind = network.kind();
  const bits = kind === 'ipv4' ? 32 : 128;
  const prefixLength = length ?? bits;
  if (prefixLength > bits) throw invalidAllow(text, `/${prefixLength} is longer than the address`);
  if (prefixLength < SHORTEST_PREFIX[kind]) {
    throw invalidAllow(text, `/${prefixLength} is too wide; at least /${SHORTEST_PREFIX[kind]}`);
  }
  const cidr = `${network.toString()}/${prefixLength}`;
  const first = kind === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  if (first.toString() !== network.toString()) {
    throw invalidAllow(text, `the network of that prefix is ${first.toString()}/${prefixLength}`);
  }
  return { kind: 'range', network, prefixLength };
}

function invalidAllow(text: string, problem: string): Error {
  return new Error(`EGRESS_ALLOW: "${text}": ${problem}`);
}

type DenyEntry =
  | { readonly kind: 'name'; readonly text: string; readonly name: string }
  | { readonly kind: 'range'; readonly text: string; readonly network: IpAddress; readonly prefixLength: number };

/**
 * `EGRESS_DENY`: public addresses that are nevertheless not reached, because they are the operator's own: ranges that
 * trust one another, or a load balancer in front of internal services. Each entry is an address, a CIDR, or a name,
 * which also covers every name below it. It wins over `EGRESS_ALLOW`: nothing that is denied has a way around it.
 */
export interface DenyList {
  readonly entries: readonly DenyEntry[];
}

/**
 * Reads the entries of `EGRESS_DENY`.
 *
 * @param entries e.g. `203.0.113.0/24`, `2001:db8::/32`, `internal.example.com`; blank ones are skipped.
 * @throws {Error} an entry is not of that form; the message names it and the problem.
 */
export function parseDenyList(entries: readonly string[]): DenyList {
  return { entries: entries.flatMap((entry) => (entry.trim() === '' ? [] : [parseDenyEntry(entry.trim())])) };
}

/** @param name by which the address was found; undefined if the URL has a literal address. */
export function isDenied(list: DenyList | undefined, name: string | undefined, address: string | undefined): boolean {
  const parsed = address === undefined ? undefined : parseAddress(address);
  return (list?.entries ?? []).some((entry) => {
    if (entry.kind === 'name') return name === entry.name || name?.endsWith(`.${entry.name}`) === true;
    return parsed?.kind() === entry.network.kind() && parsed.match(entry.network, entry.prefixLength);
  });
}

function parseDenyEntry(text: string): DenyEntry {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const [address = '', length, ...rest] = bare.split('/');
  const network = parseAddress(address);
  if (network === undefined) {
    const host = readHost(bare);
    if (host.kind === 'name') return { kind: 'name', text, name: host.name };
    throw invalidDeny(text, 'want an address, a CIDR or a name, without scheme and port');
  }
  const bits = network.kind() === 'ipv4' ? 32 : 128;
  const prefixLength = Number(length ?? bits);
  if (rest.length > 0 || !/^\d{1,3}$/.test(length ?? '0') || prefixLength > bits) {
    throw invalidDeny(text, 'the CIDR is malformed');
  }
  const cidr = `${network.toString()}/${prefixLength}`;
  const first = bits === 32 ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  if (first.toString() !== network.toString()) {
    throw invalidDeny(text, `the network of that prefix is ${first.toString()}/${prefixLength}`);
  }
  return { kind: 'range', text, network, prefixLength };
}

function invalidDeny(text: string, problem: string): Error {
  return new Error(`EGRESS_DENY: "${text}": ${problem}`);
}
