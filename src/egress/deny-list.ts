/**
 * `EGRESS_DENY`: public addresses that are nevertheless not reached, because they are the operator's own: ranges that
 * trust one another, or a load balancer in front of internal services. Each entry is an address, a CIDR, or a name,
 * which also covers every name below it. It wins over `EGRESS_ALLOW`: nothing that is denied has a way around it.
 */
import ipaddr from 'ipaddr.js';
import { parseAddress, readHost } from './address.ts';
import type { IpAddress } from './address.ts';

type DenyEntry =
  | { readonly kind: 'name'; readonly text: string; readonly name: string }
  | { readonly kind: 'range'; readonly text: string; readonly network: IpAddress; readonly prefixLength: number };

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
  return { entries: entries.flatMap((entry) => (entry.trim() === '' ? [] : [parseEntry(entry.trim())])) };
}

/** @param name by which the address was found; undefined if the URL has a literal address. */
export function isDenied(list: DenyList | undefined, name: string | undefined, address: string | undefined): boolean {
  const parsed = address === undefined ? undefined : parseAddress(address);
  return (list?.entries ?? []).some((entry) => {
    if (entry.kind === 'name') return name === entry.name || name?.endsWith(`.${entry.name}`) === true;
    return parsed?.kind() === entry.network.kind() && parsed.match(entry.network, entry.prefixLength);
  });
}

function parseEntry(text: string): DenyEntry {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const [address = '', length, ...rest] = bare.split('/');
  const network = parseAddress(address);
  if (network === undefined) {
    const host = readHost(bare);
    if (host.kind === 'name') return { kind: 'name', text, name: host.name };
    throw invalid(text, 'want an address, a CIDR or a name, without scheme and port');
  }
  const bits = network.kind() === 'ipv4' ? 32 : 128;
  const prefixLength = Number(length ?? bits);
  if (rest.length > 0 || !/^\d{1,3}$/.test(length ?? '0') || prefixLength > bits) {
    throw invalid(text, 'the CIDR is malformed');
  }
  const cidr = `${network.toString()}/${prefixLength}`;
  const first = bits === 32 ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  if (first.toString() !== network.toString()) {
    throw invalid(text, `the network of that prefix is ${first.toString()}/${prefixLength}`);
  }
  return { kind: 'range', text, network, prefixLength };
}

function invalid(text: string, problem: string): Error {
  return new Error(`EGRESS_DENY: "${text}": ${problem}`);
}
