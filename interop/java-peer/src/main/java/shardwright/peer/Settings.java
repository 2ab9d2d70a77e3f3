package shardwright.peer;

import com.google.gson.Gson;

/**
 * What a peer is told on its command line, as one JSON object: which job to be in, and how to behave there.
 *
 * @param hosts ZooKeeper's, or a proxy's in front of it
 * @param session the session's time-out in ms
 * @param className of the job: {@code RecordingJob}, or one that is made of it
 * @param cron none for a job that runs only when asked to
 * @param strategy ElasticJob's default where there is none
 * @param parameters one for each shard: {@code 0=a,1=b}
 * @param staticSharding whether shards stay where they are although members come
 * @param once whether to tell, too, when all shards of a fire have begun and ended
 * @param digest {@code user:password}, where the server wants to know
 * @param length how long each run takes, in ms
 * @param waits whether to join only when told to
 * @param events the file that events are added to
 * @param who what this peer is called there
 */
record Settings(
        String hosts,
        String namespace,
        int session,
        String job,
        String className,
        String cron,
        int shards,
        boolean failover,
        boolean monitor,
        boolean misfire,
        boolean overwrite,
        String strategy,
        String parameters,
        boolean staticSharding,
        boolean once,
        String digest,
        long length,
        boolean waits,
        String events,
        String who) {

    static Settings read(final String json) {
        return new Gson().fromJson(json, Settings.class);
    }
}
