/** Faults of a task's input, as all modules name them. */
export * from '@darkroom/api/facts/input-fault';
