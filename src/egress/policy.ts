/**
 * Which untrusted addresses we connect to. One rule, applied twice: to the URL when it is accepted, and to each
 * address when it is connected to, because a name can resolve to anything by then.
 *
 * The rule: https, a port of the configured list, a public address; or an entry of the allow list that names the very
 * host or range and exactly that port, and begins with `http://` if the URL does.
 */
import { ConfigurationError } from '../config/environment.ts';
import { isPublicAddress, readHost } from './address.ts';
import { isDenied, isGranted, mayBeGranted, parseAllowList, parseDenyList } from './operator-lists.ts';
import type { AllowList, DenyList } from './operator-lists.ts';

/** The operator's settings: `EGRESS_ALLOW`, `EGRESS_DENY` and `EGRESS_PORTS`. */
export interface EgressPolicy {
  readonly allow: AllowList;
  /** Wins over `allow`. */
  readonly deny?: DenyList | undefined;
  /** Ports that a URL may name without an entry of the allow list. */
  readonly ports: readonly number[];
}

/**
 * Reads the policy that the configuration describes.
 *
 * @throws {ConfigurationError} an entry of `EGRESS_ALLOW` or `EGRESS_DENY` is malformed.
 */
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

/** Where a URL points, before anything is resolved. */
export interface Target {
  readonly isPlainHttp: boolean;
  readonly port: number;
  readonly host:
    | { readonly kind: 'name'; readonly name: string }
    | { readonly kind: 'address'; readonly address: string };
}

/** The result of checking a URL; `problem` is for the client that sent it. */
export type UrlCheck = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly problem: string };

/** Contract §2: "at most 2048 characters". */
const MAX_URL_LENGTH = 2048;

/**
 * Checks a URL as far as that is possible without resolving its name.
 *
 * @param maxLength characters; 2048 for what clients send (contract §2). Providers' signed URLs can be longer.
 * @returns the parsed URL, or a problem to append to the field's name: `127.0.0.1 is not a public address; …`.
 */
export function checkUrl(url: string, policy: EgressPolicy, maxLength: number = MAX_URL_LENGTH): UrlCheck {
  if (url.length > maxLength) return rejected(`maxLength: got ${url.length}, want ${maxLength}`);
  // The URL parser drops tabs and line ends and turns backslashes: its result would not be what was sent.
  if (/[\s\\\p{Cc}]/u.test(url)) return rejected('must not contain blanks, backslashes or control characters');
  if (!/^https?:\/\/[^/?#]/i.test(url) || !URL.canParse(url)) return rejected('must be an absolute https URL');
  if (/^[^/]*\/\/[^/?#]*@/.test(url)) return rejected('must not contain user information');
  if (url.includes('#')) return rejected('must not contain a fragment');

  const parsed = new URL(url);
  const target = targetOf(parsed);
  if (target === undefined) return rejected('the host is neither a name nor an address');
  const problem = targetProblem(target, policy);
  return problem === undefined ? { ok: true, url: parsed } : rejected(problem);
}

/**
 * Whether a connection may be made to an address that a target resolved to.
 *
 * @param address dotted decimal or IPv6; for any other format the result is false.
 */
export function mayConnect(target: Target, address: string, policy: EgressPolicy): boolean {
  const name = target.host.kind === 'name' ? target.host.name : undefined;
  if (isDenied(policy.deny, name, address)) return false;
  if (isGranted(policy.allow, { name, port: target.port, isPlainHttp: target.isPlainHttp }, address)) return true;
  return !target.isPlainHttp && policy.ports.includes(target.port) && isPublicAddress(address);
}

/** Where a parsed http or https URL points; undefined if its host is neither a name nor an address. */
export function targetOf(url: URL): Target | undefined {
  const isPlainHttp = url.protocol === 'http:';
  const host = readHost(url.hostname);
  if (host.kind === 'invalid') return undefined;
  return { isPlainHttp, port: url.port === '' ? (isPlainHttp ? 80 : 443) : Number(url.port), host };
}

function targetProblem(target: Target, policy: EgressPolicy): string | undefined {
  const { host, port, isPlainHttp } = target;
  const name = host.kind === 'name' ? host.name : undefined;
  const address = host.kind === 'address' ? host.address : undefined;
  if (isDenied(policy.deny, name, address)) return 'the operator denies this address with EGRESS_DENY';
  if (host.kind === 'address') {
    if (mayConnect(target, host.address, policy)) return undefined;
    if (!isPublicAddress(host.address)) return notPublic(host.address, target);
  } else {
    if (mayBeGranted(policy.allow, { name: host.name, port, isPlainHttp })) return undefined;
    // RFC 6761 §6.3: these names are always loopback, so there is nothing to wait for.
    if (/(?:^|\.)localhost$/.test(host.name)) return notPublic(host.name, target);
  }
  if (isPlainHttp) return `must be https; the operator can allow plain http with ${allowEntry(target)}`;
  if (!policy.ports.includes(port)) return `port ${port} is not allowed; want ${policy.ports.join(' or ')}`;
  return undefined;
}

function notPublic(host: string, target: Target): string {
  return `${host} is not a public address; the operator can allow it with ${allowEntry(target)}`;
}

/** The setting that allows a target: `EGRESS_ALLOW=http://127.0.0.1:3000`. */
export function allowEntry({ host, port, isPlainHttp }: Target): string {
  const name = host.kind === 'name' ? host.name : host.address.includes(':') ? `[${host.address}]` : host.address;
  return `EGRESS_ALLOW=${isPlainHttp ? 'http://' : ''}${name}:${port}`;
}

function rejected(problem: string): UrlCheck {
  return { ok: false, problem };
}
