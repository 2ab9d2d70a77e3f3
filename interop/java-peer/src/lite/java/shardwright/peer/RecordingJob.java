package shardwright.peer;

import java.util.HashMap;
import org.apache.shardingsphere.elasticjob.api.ShardingContext;
import org.apache.shardingsphere.elasticjob.simple.job.SimpleJob;

/** A job that only takes its time, and tells when it began and ended. */
public class RecordingJob implements SimpleJob {

    private final Events events;
    private final long length;

    RecordingJob(final Events events, final long length) {
        this.events = events;
        this.length = length;
    }

    @Override
    public void execute(final ShardingContext shard) {
        final var run = new HashMap<String, Object>();
        run.put("item", shard.getShardingItem());
        run.put("total", shard.getShardingTotalCount());
        run.put("parameter", shard.getShardingParameter());
        events.add("start", run);
        try {
            Thread.sleep(length);
        } catch (final InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        events.add("end", run);
    }
}
