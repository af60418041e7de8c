/** Faults of a task's input, as all modules name them; the list is that of the package that reads media. */
export * from '@darkroom/media/input-fault';
