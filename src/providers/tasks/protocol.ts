import type { UpstreamProtocol } from '../upstream-protocol.ts';
import { createTasksProvider } from './tasks-provider.ts';

export const tasksProtocol: UpstreamProtocol = { name: 'tasks', create: createTasksProvider };
