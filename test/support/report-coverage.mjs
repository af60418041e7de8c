/** Loaded into the processes of a test that asks which functions ran: SIGUSR2 writes them down and begins again. */
import { takeCoverage } from 'node:v8';

process.on('SIGUSR2', () => takeCoverage());
