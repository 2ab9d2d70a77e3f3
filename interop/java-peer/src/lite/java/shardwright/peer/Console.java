package shardwright.peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.shardingsphere.elasticjob.infra.pojo.JobConfigurationPOJO;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobAPIFactory;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobConfigurationAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobOperateAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.JobStatisticsAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.ServerStatisticsAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.ShardingOperateAPI;
import org.apache.shardingsphere.elasticjob.lite.lifecycle.api.ShardingStatisticsAPI;

/**
 * ElasticJob's operations API on one job, as its console uses it, steered by lines on standard input: a word, and
 * what it is about. What is asked is answered by an event named {@code answer}, also what has nothing to say.
 */
public final class Console {

    private final String job;
    private final JobConfigurationAPI configurations;
    private final JobOperateAPI operations;
    private final ShardingOperateAPI shards;
    private final JobStatisticsAPI jobs;
    private final ServerStatisticsAPI servers;
    private final ShardingStatisticsAPI sharding;

    private Console(final Settings to) {
        job = to.job();
        configurations = JobAPIFactory.createJobConfigurationAPI(to.hosts(), to.namespace(), to.digest());
        operations = JobAPIFactory.createJobOperateAPI(to.hosts(), to.namespace(), to.digest());
        shards = JobAPIFactory.createShardingOperateAPI(to.hosts(), to.namespace(), to.digest());
        jobs = JobAPIFactory.createJobStatisticsAPI(to.hosts(), to.namespace(), to.digest());
        servers = JobAPIFactory.createServerStatisticsAPI(to.hosts(), to.namespace(), to.digest());
        sharding = JobAPIFactory.createShardingStatisticsAPI(to.hosts(), to.namespace(), to.digest());
    }

    public static void main(final String[] args) throws IOException {
        final Settings settings = Settings.read(args[0]);
        final Events events = new Events(settings);
        final Console console = new Console(settings);
        events.add("joined");
        final var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null && !"stop".equals(line); line = lines.readLine()) {
            final String[] words = line.split(" ", 2);
            final Object answer = console.obey(words[0], words.length > 1 ? words[1] : null);
            events.add("answer", Map.of("to", line, "answer", answer));
        }
        events.add("left");
        System.exit(0);
    }

    private Object obey(final String word, final String about) {
        switch (word) {
            case "job":
                return jobs.getJobBriefInfo(job);
            case "jobs":
                return jobs.getAllJobsBriefInfo();
            case "servers":
                return servers.getAllServersBriefInfo();
            case "shards":
                return sharding.getShardingInfo(job);
            case "config":
                return configurations.getJobConfiguration(job);
            case "total":
                change(config -> config.setShardingTotalCount(Integer.parseInt(about)));
                break;
            case "cron":
                change(config -> config.setCron(about));
                break;
            case "failover":
                change(config -> config.setFailover(Boolean.parseBoolean(about)));
                break;
            case "trigger":
                operations.trigger(job);
                break;
            case "disable":
                operations.disable(job, about);
                break;
            case "enable":
                operations.enable(job, about);
                break;
            case "shutdown":
                operations.shutdown(job, about);
                break;
            case "remove":
                operations.remove(job, about);
                break;
            case "disable-shard":
                shards.disable(job, about);
                break;
            case "enable-shard":
                shards.enable(job, about);
                break;
            default:
                throw new IllegalArgumentException("a console does not know " + word);
        }
        return "done";
    }

    private void change(final Consumer<JobConfigurationPOJO> how) {
        final var config = configurations.getJobConfiguration(job);
        how.accept(config);
        configurations.updateJobConfiguration(config);
    }
}
