import type { UpstreamProtocol } from '../upstream-protocol.ts';
import { createCogProvider } from './cog-provider.ts';

export const cogProtocol: UpstreamProtocol = { name: 'cog', create: createCogProvider };
