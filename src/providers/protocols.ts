/**
 * Every protocol that this release speaks. To add one, add a directory, and its protocol to the list.
 */
import type { Protocol } from '../catalogue/protocol.ts';
import { EMBEDDED_PROTOCOL } from '../domain/embedded-protocol.ts';
import { cogProtocol } from './cog/protocol.ts';
import { httpProtocol } from './http/protocol.ts';
import { openAiProtocol } from './openai/protocol.ts';
import { replicateProtocol } from './replicate/protocol.ts';
import { tasksProtocol } from './tasks/protocol.ts';
import type { UpstreamProtocol } from './upstream-protocol.ts';

/** The protocols of upstreams. */
export const UPSTREAM_PROTOCOLS: readonly UpstreamProtocol[] = [
  openAiProtocol,
  replicateProtocol,
  tasksProtocol,
  cogProtocol,
  httpProtocol,
];

/** All protocols that a model file can name, including that of our own engines. */
export const PROTOCOLS: readonly Protocol[] = [{ name: EMBEDDED_PROTOCOL }, ...UPSTREAM_PROTOCOLS];
