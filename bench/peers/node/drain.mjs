// pg-boss and graphile-worker as their documentation shows them: jobs put in by as many senders as ours,
// drained by one process. Reads DATABASE_URL, EVENTS, SENDERS, CONCURRENCY; the first argument names the queue.
// Prints the two rates as JSON.
import pg from "pg";

const events = Number(process.env.EVENTS);
const senders = Number(process.env.SENDERS);
const concurrency = Number(process.env.CONCURRENCY);
const url = process.env.DATABASE_URL;

async function rate(send) {
  const began = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: senders }, async () => {
      for (let number = next++; number < events; number = next++) await send(number);
    }),
  );
  return (events * 1000) / (performance.now() - began);
}

const queues = {
  async "pg-boss"() {
    const { default: PgBoss } = await import("pg-boss");
    const boss = new PgBoss({ connectionString: url, max: senders });
    boss.on("error", console.error);
    await boss.start();
    await boss.createQueue("nothing");
    const stored = await rate((number) => boss.send("nothing", { number }));
    const began = Date.now();
    let done = 0;
    await new Promise((resolve) => {
      const settled = () => ++done === events && resolve();
      // It finishes a job after its handler: stop() waits for the last ones, and for up to a poll interval more.
      for (let worker = 0; worker < concurrency; worker++) {
        boss.work("nothing", { batchSize: 100, pollingIntervalSeconds: 0.5 }, async (jobs) => jobs.forEach(settled));
      }
    });
    await boss.stop({ graceful: true, wait: true });
    const last = "SELECT count(*)::int AS jobs, max(completed_on) AS at FROM pgboss.job WHERE state = 'completed'";
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { jobs, at } = (await client.query(last)).rows[0];
    await client.end();
    if (jobs !== events) throw new Error(`${jobs} of ${events} jobs were done`);
    return { stored, drained: (events * 1000) / (at - began) };
  },

  async "graphile-worker"() {
    const { Logger, makeWorkerUtils, run } = await import("graphile-worker");
    const logger = new Logger(() => () => {}); // its lines for each job would be what is measured
    const pool = new pg.Pool({ connectionString: url, max: senders });
    const utils = await makeWorkerUtils({ pgPool: pool, logger });
    await utils.migrate();
    const stored = await rate((number) => utils.addJob("nothing", { number }));
    const began = performance.now();
    let done = 0;
    let finished;
    const all = new Promise((resolve) => (finished = resolve));
    const runner = await run({
      pgPool: pool,
      concurrency,
      noHandleSignals: true,
      logger,
      taskList: { nothing: async () => void (++done === events && finished()) },
    });
    await all;
    await runner.stop();
    const drained = (events * 1000) / (performance.now() - began);
    await utils.release();
    await pool.end();
    return { stored, drained };
  },
};

console.log(JSON.stringify(await queues[process.argv[2]]()));
